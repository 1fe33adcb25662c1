/** A provider that asks to wait (C7): the clients of this door wait as long, and the official SDK does not send the request again before. */
import assert from "node:assert/strict";
import { test } from "node:test";
import OpenAI from "openai";
import { testOpenAi, type OpenAiTest } from "../../../testing/openai-door.ts";

const limited = (retryAfterMs: number) => ({
  script: () => [{ fails: "provider_rate_limited" as const, message: "slow down", retryAfterMs }],
});

const messages = [{ role: "user" as const, content: "hi" }];
const asks: Record<string, (openai: OpenAI) => Promise<unknown>> = {
  "a response": (openai) => openai.responses.create({ input: "hi" }),
  "a chat completion": (openai) => openai.chat.completions.create({ model: "", messages }),
  "a compaction": (openai) => openai.responses.compact({ model: "scripted-1", input: "a long conversation" }),
};

async function refusal(asked: Promise<unknown>): Promise<{ status: number; headers: Headers }> {
  const error = await asked.then(
    () => assert.fail("the request was answered"),
    (thrown: unknown) => thrown,
  );
  assert.ok(error instanceof OpenAI.APIError);
  return { status: Number(error.status), headers: error.headers ?? assert.fail("no headers") };
}

for (const [name, ask] of Object.entries(asks))
  test(`[C7] [O1] the 429 of a provider to ${name} says how long to wait`, async (t) => {
    const { openai } = await testOpenAi(t, limited(20_000));
    const { status, headers } = await refusal(ask(openai));
    assert.deepEqual([status, headers.get("retry-after"), headers.get("x-should-retry")], [429, "20", null]);
  });

test("[C7] [O1] the SDK does not send a request again that has to wait for an hour", async (t) => {
  const tested: OpenAiTest = await testOpenAi(t, limited(3_600_000));
  const { openai, provider, engine, admin } = tested;
  const { status, headers } = await refusal(openai.responses.create({ input: "hi" }, { maxRetries: 2 }));
  assert.deepEqual([status, headers.get("retry-after")], [429, "3600"]);
  assert.equal(provider.exchanges.length, 1);
  const { sessions } = await engine.sessions.list(admin, {});
  const [turn] = await engine.turns.list(admin, sessions[0]?.id ?? "", { limit: 1 });
  assert.equal(turn?.status === "failed" && turn.failures[0].retryAfterSeconds, 3_600);
});
