/** The form of an answer, and the order to call some tool, on each wire (G3, E5). */
import assert from "node:assert/strict";
import { test } from "node:test";
import { callsTo, userInstruction } from "../../testing/provider-exchange.ts";
import type { AnswerFormat } from "../domain/context.ts";
import { anthropicProvider } from "./anthropic/anthropic.ts";
import { compatibleProvider } from "./compatible/compatible.ts";
import { googleProvider } from "./google/google.ts";
import { openaiProvider } from "./openai/openai.ts";
import type { Provider } from "./provider.ts";

const schema = { type: "object", properties: { city: { type: "string" } } };
const inSchema: AnswerFormat = { type: "schema", name: "place", schema, strict: true };
const tools = ["a", "b"].map((name) => ({ name, parameters: { type: "object" } }));
const key = { apiKey: "sk-test-0123456789" };

const providers: Record<string, [Provider, string]> = {
  openai: [openaiProvider({ ...key, model: "gpt-5.1" }), "gpt-5.1"],
  compatible: [compatibleProvider({ name: "local", baseUrl: "http://localhost:1/v1", model: "m" }), "m"],
  anthropic: [anthropicProvider({ ...key, model: "claude-sonnet-5" }), "claude-sonnet-5"],
  google: [googleProvider({ ...key, model: "gemini-2.5-pro" }), "gemini-2.5-pro"],
};

function prepared(name: string, more: object): { body: unknown; adjusted: readonly string[] } {
  const [provider, model] = providers[name] ?? assert.fail(name);
  const { body, adjusted = [] } = provider.prepare(callsTo(model)([userInstruction("Where?")], more));
  return { body: JSON.parse(body), adjusted };
}

const forms: Record<string, object> = {
  openai: { text: { format: { type: "json_schema", name: "place", schema, strict: true } } },
  compatible: { response_format: { type: "json_schema", json_schema: { name: "place", schema, strict: true } } },
  anthropic: { output_config: { format: { type: "json_schema", schema } } },
  google: { generationConfig: { responseMimeType: "application/json", responseJsonSchema: schema } },
};

test("[G3] an answer in the form of a schema is asked for on each wire", () => {
  for (const [name, expected] of Object.entries(forms)) {
    const { body, adjusted } = prepared(name, { settings: { answerFormat: inSchema } });
    assert.partialDeepStrictEqual(body, expected, name);
    assert.deepEqual(adjusted, []);
  }
});

test("[G3] JSON without a schema is asked for where the wire has it, else there is a warning", () => {
  const settings = { answerFormat: { type: "json" } };
  assert.partialDeepStrictEqual(prepared("openai", { settings }).body, { text: { format: { type: "json_object" } } });
  assert.partialDeepStrictEqual(prepared("compatible", { settings }).body, {
    response_format: { type: "json_object" },
  });
  assert.partialDeepStrictEqual(prepared("google", { settings }).body, {
    generationConfig: { responseMimeType: "application/json" },
  });
  assert.match(prepared("anthropic", { settings }).adjusted.join(), /takes no form of the answer/);
});

test("[E5] the order to call any tool, or any of some, is sent on each wire that has it", () => {
  const any: Record<string, object> = {
    openai: { tool_choice: "required" },
    compatible: { tool_choice: "required" },
    anthropic: { tool_choice: { type: "any" } },
    google: { toolConfig: { functionCallingConfig: { mode: "ANY" } } },
  };
  for (const [name, expected] of Object.entries(any)) {
    assert.partialDeepStrictEqual(prepared(name, { tools, mustCall: true }).body, expected, name);
  }
  const some = { tools, mustCall: true, allowedTools: ["a"] };
  assert.partialDeepStrictEqual(prepared("openai", some).body, {
    tool_choice: { type: "allowed_tools", mode: "required" },
  });
  assert.partialDeepStrictEqual(prepared("google", some).body, {
    toolConfig: { functionCallingConfig: { mode: "ANY", allowedFunctionNames: ["a"] } },
  });
});

test("[C5] a message of the system in the history keeps its weight where the wire has such messages", () => {
  const [provider, model] = providers["openai"] ?? assert.fail();
  assert.equal(provider.ranks, true);
  const { body } = provider.prepare(callsTo(model)([{ type: "user", parts: ["Be brief."], rank: "system" }]));
  assert.deepEqual((JSON.parse(body) as { input: unknown[] }).input[1], {
    role: "system",
    content: [{ type: "input_text", text: "Be brief." }],
  });
});
