import assert from "node:assert/strict";
import { test } from "node:test";
import { windowIn } from "./window-in-error.ts";

test("[C6] the window that a provider names in its error is read, and no other number", () => {
  for (const [message, window] of [
    [
      "This model's maximum context length is 16385 tokens. However, your messages resulted in 20310 tokens. Please reduce the length of the messages.",
      16_385,
    ],
    ["This model's maximum context length is 4096 tokens and your request has 5000 input tokens", 4_096],
    [
      "This endpoint's maximum context length is 131072 tokens. However, you requested about 140000 tokens (139000 of text input)",
      131_072,
    ],
    ["The decoder prompt (length 9000) is longer than the maximum model length of 8192. Make sure …", 8_192],
    ["prompt is too long: 205000 tokens > 200000 maximum", 200_000],
    ["input length and `max_tokens` exceed context limit: 190000 + 21000 > 200000, decrease input length", 200_000],
    ["The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).", 1_048_576],
    ["the request exceeds the available context size (4096 tokens), try increasing it (HTTP 400)", 4_096],
    ["request (5312 tokens) exceeds the available context size (4,096 tokens)", 4_096],
    [
      "Trying to keep the first 9000 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens, which is not enough.",
      4_096,
    ],
    ["Your input exceeds the context window of this model. Please adjust your input and try again.", null],
    ["the model's window was full before it had answered (HTTP 400)", null],
    ["the script fails here", null],
  ] as const) {
    assert.equal(windowIn(message), window, message);
  }
});
