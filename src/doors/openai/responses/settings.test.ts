/** What a request sets for its own turn, and how it is shown (O1, O4). */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { ResponseStreamEvent } from "openai/resources/responses/responses";
import { testOpenAi } from "../../../../testing/openai-door.ts";

const user = { role: "user" as const, content: "x" };

test("[O4] settings of a response are not inherited, not even by the same session", async (t) => {
  const { openai, provider } = await testOpenAi(t);
  const first = await openai.responses.create({ input: "one", max_output_tokens: 99, temperature: 0.5 });
  const second = await openai.responses.create({ input: "two", previous_response_id: first.id });
  assert.deepEqual([first.max_output_tokens, second.max_output_tokens], [99, null]);
  assert.deepEqual(provider.exchanges[1]?.call.settings, {});
});

test("[O4] every setting of a response reaches the model, and the response shows it, later too", async (t) => {
  const { openai, provider } = await testOpenAi(t);
  const asked = {
    temperature: 0.5,
    top_p: 0.25,
    max_output_tokens: 99,
    max_tool_calls: 3,
    parallel_tool_calls: false,
    prompt_cache_key: "desk 1",
    truncation: "disabled" as const,
    reasoning: { effort: "none" as const, summary: "detailed" as const },
  };
  const made = await openai.responses.create({ input: "one", ...asked });
  assert.partialDeepStrictEqual(made, asked);
  assert.partialDeepStrictEqual(await openai.responses.retrieve(made.id), asked);
  assert.deepEqual(provider.exchanges[0]?.call.settings, {
    temperature: 0.5,
    topP: 0.25,
    maxOutputTokens: 99,
    parallelToolCalls: false,
    cacheKey: "desk 1",
    reasoningEffort: "none",
    reasoningSummary: "detailed",
  });
});

test("[O4] every setting of a chat completion reaches the model", async (t) => {
  const { openai, provider } = await testOpenAi(t);
  for (const stop of ["END", ["END", "###"]]) {
    await openai.chat.completions.create({
      model: "scripted-1",
      messages: [user],
      stop,
      top_p: 0.25,
      max_tokens: 9,
      parallel_tool_calls: false,
      reasoning_effort: "low",
    });
  }
  const settings = { topP: 0.25, maxOutputTokens: 9, parallelToolCalls: false, reasoningEffort: "low" };
  assert.deepEqual(
    provider.exchanges.map(({ call }) => call.settings),
    [
      { ...settings, stop: ["END"] },
      { ...settings, stop: ["END", "###"] },
    ],
  );
});

test("[O1] [C6] without truncation a history that is too long fails, and nothing of it is left out", async (t) => {
  const words = "word ".repeat(800);
  const { openai, provider, wireError } = await testOpenAi(t, {
    script: (call) => {
      if (call.prompt?.startsWith("You condense") === true) return "summary";
      return JSON.stringify(call.items).length > 10_000 ? [{ fails: "context_window_exceeded" }] : words;
    },
    contextTokens: () => 3_000,
    remembers: false,
  });
  const first = await openai.responses.create({ input: `one ${words}` });
  const body = { input: `two ${words}`, previous_response_id: first.id };
  const refused = await wireError("POST /v1/responses", { ...body, truncation: "disabled" });
  assert.deepEqual([refused.status, refused.code], [400, "context_length_exceeded"]);
  assert.equal(provider.exchanges.length, 2, "it is sent as it is, once");
  let failed: ResponseStreamEvent | undefined;
  const stream = await openai.responses.create({ ...body, truncation: "disabled", stream: true });
  for await (const event of stream) if (event.type === "response.failed") failed = event;
  // Agents summarise their history when they read this code.
  assert.equal(failed?.type === "response.failed" && String(failed.response.error?.code), "context_length_exceeded");
  const answered = await openai.responses.create({ ...body, truncation: "auto" });
  assert.deepEqual([answered.status, answered.truncation], ["completed", "auto"]);
  assert.match(JSON.stringify(provider.exchanges.at(-1)?.call.items), /summary/);
});

test("[O1] what OpenAI has and this server does not is refused by its name", async (t) => {
  const { wireError } = await testOpenAi(t);
  const unsupported: Record<string, Record<string, unknown>> = {
    "/v1/responses": {
      include: ["message.output_text.logprobs"],
      prompt: { id: "pmpt_1" },
      presence_penalty: 1,
      frequency_penalty: 1,
      top_logprobs: 2,
    },
    "/v1/chat/completions": {
      n: 2,
      logprobs: true,
      top_logprobs: 2,
      presence_penalty: 1,
      frequency_penalty: 1,
      logit_bias: { "50256": -100 },
      modalities: ["text", "audio"],
      audio: { voice: "alloy", format: "mp3" },
      web_search_options: {},
      functions: [{ name: "f" }],
      function_call: "auto",
    },
  };
  for (const [path, fields] of Object.entries(unsupported)) {
    for (const [name, value] of Object.entries(fields)) {
      const { status, param, code } = await wireError(`POST ${path}`, { input: "x", messages: [user], [name]: value });
      assert.deepEqual([status, param, code], [400, name, "unsupported_parameter"]);
    }
  }
});

test("[O1] a value out of range is refused with its parameter", async (t) => {
  const { wireError } = await testOpenAi(t);
  const wrong: [path: string, param: string, fields: object][] = [
    ["/v1/responses", "include[0]", { include: ["novel"] }],
    ["/v1/responses", "context_management[0].type", { context_management: [{ type: "novel" }] }],
    ["/v1/responses", "top_p", { top_p: 2 }],
    ["/v1/responses", "max_tool_calls", { max_tool_calls: 0 }],
    ["/v1/responses", "truncation", { truncation: "middle" }],
    ["/v1/responses", "prompt_cache_key", { prompt_cache_key: "k".repeat(65) }],
    ["/v1/chat/completions", "stop", { stop: ["a", "b", "c", "d", "e"] }],
    ["/v1/chat/completions", "top_p", { top_p: 2 }],
  ];
  for (const [path, param, fields] of wrong) {
    const error = await wireError(`POST ${path}`, { input: "x", messages: [user], ...fields });
    assert.deepEqual([error.status, error.param], [400, param], JSON.stringify(error));
  }
});
