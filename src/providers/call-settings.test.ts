/** Settings of one call, on each wire (G3). */
import assert from "node:assert/strict";
import { test } from "node:test";
import { callsTo, userInstruction } from "../../testing/provider-exchange.ts";
import type { ModelSettings } from "../domain/context.ts";
import { anthropicProvider } from "./anthropic/anthropic.ts";
import { compatibleProvider } from "./compatible/compatible.ts";
import { googleProvider } from "./google/google.ts";
import { openaiProvider } from "./openai/openai.ts";
import type { Provider } from "./provider.ts";

const key = { apiKey: "sk-test-0123456789" };
const providers = {
  openai: [openaiProvider({ ...key, model: "gpt-5.1" }), "gpt-5.1"],
  compatible: [compatibleProvider({ name: "local", baseUrl: "http://localhost:1/v1", model: "m" }), "m"],
  anthropic: [anthropicProvider({ ...key, model: "claude-sonnet-5" }), "claude-sonnet-5"],
  google: [googleProvider({ ...key, model: "gemini-2.5-pro" }), "gemini-2.5-pro"],
} satisfies Record<string, [Provider, string]>;
type Name = keyof typeof providers;

/** What of the body a setting makes, by provider. Null: the wire does not have it, and the turn warns. */
type Expected = Record<Name, object | null>;

const tools = [{ name: "look", parameters: { type: "object" } }];

function prepared(name: Name, settings: ModelSettings): { body: unknown; adjusted: readonly string[] } {
  const [provider, model] = providers[name];
  const { body, adjusted = [] } = provider.prepare(callsTo(model)([userInstruction("Where?")], { settings, tools }));
  return { body: JSON.parse(body), adjusted };
}

const cases: [settings: ModelSettings, expected: Expected][] = [
  [
    { topP: 0.25 },
    {
      openai: { top_p: 0.25 },
      compatible: { top_p: 0.25 },
      anthropic: null,
      google: { generationConfig: { topP: 0.25 } },
    },
  ],
  [
    { stop: ["END", "###"] },
    {
      openai: null,
      compatible: { stop: ["END", "###"] },
      anthropic: { stop_sequences: ["END", "###"] },
      google: { generationConfig: { stopSequences: ["END", "###"] } },
    },
  ],
  [
    { parallelToolCalls: false },
    {
      openai: { parallel_tool_calls: false },
      compatible: { parallel_tool_calls: false },
      anthropic: { tool_choice: { type: "auto", disable_parallel_tool_use: true } },
      google: null,
    },
  ],
];

test("[G3] a setting of a call is sent on each wire that has it, and the turn warns on the others", () => {
  for (const [settings, expected] of cases) {
    for (const [name, part] of Object.entries(expected) as [Name, object | null][]) {
      const { body, adjusted } = prepared(name, settings);
      const label = `${name} ${JSON.stringify(settings)}`;
      assert.equal(adjusted.length, part === null ? 1 : 0, label);
      if (part !== null) assert.partialDeepStrictEqual(body, part, label);
    }
  }
});

test("[G3] a name for the cache is sent where the wire has one; without it nothing changes but the price", () => {
  assert.partialDeepStrictEqual(prepared("openai", { cacheKey: "desk" }).body, { prompt_cache_key: "desk" });
  for (const name of ["compatible", "anthropic", "google"] as const) {
    const { body, adjusted } = prepared(name, { cacheKey: "desk" });
    assert.deepEqual([body, adjusted], [prepared(name, {}).body, []]);
  }
});

test("[G3] a blank text to stop at is not sent to a wire that refuses it", () => {
  const { body, adjusted } = prepared("anthropic", { stop: ["\n"] });
  assert.ok(!("stop_sequences" in (body as object)));
  assert.match(adjusted.join(), /takes no text to stop at/);
});
