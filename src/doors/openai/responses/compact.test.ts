/** Compaction and the count of input tokens, driven by the official SDK (O1). */
import assert from "node:assert/strict";
import { test } from "node:test";
import { testOpenAi } from "../../../../testing/openai-door.ts";

test("[O1] a compaction has a summary, and is the beginning of a new chain", async (t) => {
  const { openai, provider } = await testOpenAi(t, {
    remembers: false,
    script: (_call, n) => (n === 1 ? "They counted to two." : `answer ${n}`),
  });
  const input = [
    { role: "user" as const, content: "one" },
    { role: "assistant" as const, content: "first" },
    { role: "user" as const, content: "two" },
  ];
  const compaction = await openai.responses.compact({ model: "scripted-1", input });
  assert.equal(compaction.object, "response.compaction");
  assert.ok(compaction.usage.total_tokens > 0);
  const [item] = compaction.output;
  assert.ok(item?.type === "compaction");
  const next = await openai.responses.create({ input: [item, { role: "user", content: "three" }] } as never);
  assert.equal((next as unknown as { status: string }).status, "completed");
  const seen = provider.exchanges.at(-1)?.call.items ?? [];
  assert.match(JSON.stringify(seen), /They counted to two/);
  assert.doesNotMatch(JSON.stringify(seen), /first/);
});

test("[O1] a response is compacted by its id; without a model, or by a stranger, it is refused", async (t) => {
  const { openai, person, clientOf, wireError } = await testOpenAi(t);
  const first = await openai.responses.create({ input: "one" });
  const compaction = await openai.responses.compact({ model: "scripted-1", previous_response_id: first.id });
  assert.equal((await wireError("POST /v1/responses/compact", { input: "x" })).param, "model");
  const stranger = clientOf(await person("member"));
  const input = [...compaction.output, { role: "user" as const, content: "two" }];
  await assert.rejects(stranger.responses.create({ input } as never), { status: 400 });
  const foreign = { type: "compaction", encrypted_content: "AAAA" };
  const refused = await wireError("POST /v1/responses", { input: [foreign, { role: "user", content: "x" }] });
  assert.deepEqual([refused.status, refused.param], [400, "input[0].encrypted_content"]);
});

test("[O1] input tokens are counted without a turn", async (t) => {
  const { openai, engine, admin, provider } = await testOpenAi(t);
  const short = await openai.responses.inputTokens.count({ model: "scripted-1", input: "hi" });
  const long = await openai.responses.inputTokens.count({ model: "scripted-1", input: "hi ".repeat(500) });
  assert.equal(short.object, "response.input_tokens");
  assert.ok(long.input_tokens > short.input_tokens + 200);
  assert.deepEqual([(await engine.sessions.list(admin, {})).sessions.length, provider.exchanges.length], [0, 0]);
});
