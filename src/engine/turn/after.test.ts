/** Continuing any turn without being refused because of another one (O2). */
import assert from "node:assert/strict";
import { test } from "node:test";
import { alice, testEngine } from "../../../testing/engine.ts";
import { hasCode } from "../../../testing/refusals.ts";

test("[O2] the head is continued in its session, any other turn in a fork", async (t) => {
  const { ask } = await testEngine(t);
  const first = await ask("one");
  const second = await ask("two", { after: { turnId: first.id } });
  assert.equal(second.sessionId, first.sessionId);
  const other = await ask("other", { after: { turnId: first.id } });
  assert.notEqual(other.sessionId, first.sessionId);
  assert.deepEqual([second.parentId, other.parentId], [first.id, first.id]);
});

test("[O2] two continuations of one turn at once are two branches, and none is refused", async (t) => {
  const { ask, provider } = await testEngine(t, { remembers: false });
  const first = await ask("one");
  const turns = await Promise.all(["a", "b", "c"].map((text) => ask(text, { after: { turnId: first.id } })));
  assert.deepEqual(
    turns.map(({ status, parentId }) => [status, parentId]),
    turns.map(() => ["completed", first.id]),
  );
  assert.equal(new Set(turns.map(({ sessionId }) => sessionId)).size, 3);
  for (const { call } of provider.exchanges.slice(1)) assert.equal(call.items.length, 3);
});

test("[O2] a turn that is still running is waited for, and then continued", async (t) => {
  const held = Promise.withResolvers<void>();
  const { start, ask, provider } = await testEngine(t, {
    remembers: false,
    script: (_call, n) => (n === 1 ? [{ says: ["first ", held.promise, "answer"] }] : "second answer"),
  });
  const first = await start("one");
  const next = ask("two", { after: { turnId: first.turnId } });
  held.resolve();
  const turn = await next;
  assert.equal(turn.parentId, first.turnId);
  assert.deepEqual(provider.exchanges[1]?.call.items[1], { type: "assistant", text: "first answer" });
});

test("[O2] a continuation below the head forks while another turn runs in the session", async (t) => {
  const held = Promise.withResolvers<void>();
  const { start, ask } = await testEngine(t, { script: (_call, n) => (n === 2 ? [{ waits: held.promise }] : "x") });
  const first = await ask("one");
  const running = await start("two", { sessionId: first.sessionId });
  const fork = await ask("three", { after: { turnId: first.id } });
  assert.notEqual(fork.sessionId, first.sessionId);
  held.resolve();
  assert.equal((await running.finished).sessionId, first.sessionId);
});

test("[O2] another user's public turn is continued in a fork, and a foreign one does not exist", async (t) => {
  const { ask, engine } = await testEngine(t);
  const turn = await ask("one");
  const bob = { ...alice, userId: crypto.randomUUID(), role: "member" as const };
  const request = { instruction: "two", after: { turnId: turn.id } };
  await assert.rejects(engine.turns.run(bob, request), hasCode("not_found"));
  await engine.sessions.update(alice, turn.sessionId, { isPublic: true });
  const running = await engine.turns.run(bob, request);
  await running.finished;
  assert.notEqual(running.sessionId, turn.sessionId);
});
