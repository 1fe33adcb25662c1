import assert from "node:assert/strict";
import { test } from "node:test";
import { rejectionOf } from "../../testing/refusals.ts";
import { anthropicProvider } from "./anthropic/anthropic.ts";
import { compatibleProvider } from "./compatible/compatible.ts";
import { googleProvider } from "./google/google.ts";
import { openaiProvider } from "./openai/openai.ts";

const key = "sk-very-secret-0123456789";
const signal = new AbortController().signal;

function answering(body: unknown, status = 200) {
  const asked: { url: string; method: string; headers: Record<string, string> }[] = [];
  const send = (async (url: string, init: { method: string; headers: Record<string, string> }) => {
    asked.push({ url, method: init.method, headers: init.headers });
    return new Response(typeof body === "string" ? body : JSON.stringify(body), { status });
  }) as unknown as typeof fetch;
  return { asked, options: { apiKey: key, baseUrl: "http://localhost/api", model: "m", fetch: send } };
}

test("[G3] each provider lists its models with their windows, without those that answer no conversation", async () => {
  const openai = answering({ data: [{ id: "gpt-x" }, { id: "text-embedding-3" }, { id: 7 }, {}] });
  assert.deepEqual(await openaiProvider(openai.options).models?.(signal), [{ id: "gpt-x", contextTokens: null }]);
  assert.deepEqual([openai.asked[0]?.method, openai.asked[0]?.url], ["GET", "http://localhost/api/models"]);
  assert.equal(openai.asked[0]?.headers["authorization"], `Bearer ${key}`);
  const anthropic = answering({ data: [{ id: "claude-x", max_input_tokens: 9 }] });
  assert.deepEqual(await anthropicProvider(anthropic.options).models?.(signal), [{ id: "claude-x", contextTokens: 9 }]);
  const generate = { supportedGenerationMethods: ["generateContent"] };
  const google = answering({
    models: [
      { name: "models/gemini-x", inputTokenLimit: 8, ...generate },
      { name: "models/other", supportedGenerationMethods: ["countTokens"] },
    ],
  });
  assert.deepEqual(await googleProvider(google.options).models?.(signal), [{ id: "gemini-x", contextTokens: 8 }]);
  const router = answering({
    data: [
      { id: "meta/llama", context_length: 7 },
      { id: "b", context_length: "many" },
    ],
  });
  assert.deepEqual(await compatibleProvider({ name: "router", ...router.options }).models?.(signal), [
    { id: "meta/llama", contextTokens: 7 },
    { id: "b", contextTokens: null },
  ]);
});

test("[G3] [E8] a list that cannot be had is an error with a code and without a secret", async () => {
  for (const { options } of [answering(`no ${key}`), answering({ error: key }, 401), answering([1, 2])]) {
    const error = await rejectionOf(openaiProvider(options).models?.(signal) ?? Promise.resolve());
    assert.equal(error.code, "provider_unavailable");
    assert.ok(!String(error.detail).includes(key));
  }
});
