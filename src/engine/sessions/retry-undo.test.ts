/** Running the newest turn again, and going back to before it (T7, T12). */
import assert from "node:assert/strict";
import { test } from "node:test";
import { alice, testEngine } from "../../../testing/engine.ts";
import { hasCode } from "../../../testing/refusals.ts";
import type { ScriptedAnswer } from "../../providers/scripted/scripted.ts";

/** A model whose n-th answer is cut after some text, or fails at once. */
function failing(at: Record<number, "cut" | "refused">) {
  return (_call: unknown, n: number): ScriptedAnswer => {
    if (at[n] === "cut") return [{ says: "half" }, { cuts: true }];
    return at[n] === "refused" ? [{ fails: "provider_rejected" }] : `answer ${n}`;
  };
}

test("[T12] [T7] retry runs the newest turn again beside it, whether or not it did something, and becomes the head", async (t) => {
  for (const end of ["cut", "refused"] as const) {
    const { ask, engine } = await testEngine(t, { script: failing({ 2: end }) });
    const first = await ask("one");
    const { sessionId } = first;
    const failed = await ask("two", { sessionId });
    const again = await ask("", { sessionId, retry: true });
    assert.deepEqual([again.rerunOf, again.parentId, again.sessionId], [failed.id, first.id, sessionId]);
    assert.equal(again.instructionSummary, "two");
    assert.equal((await engine.sessions.get(alice, sessionId)).headTurnId, again.id);
  }
});

test("[T12] undo moves the head back, leaves it where the turn did nothing, and of a root leaves none", async (t) => {
  const { ask, engine } = await testEngine(t, { script: failing({ 2: "cut", 3: "refused" }) });
  const first = await ask("one");
  const { sessionId } = first;
  const cut = await ask("two", { sessionId });
  const undone = await engine.tree.undo(alice, sessionId);
  assert.deepEqual([undone.undoneTurnId, undone.session.headTurnId], [cut.id, first.id]);
  const refused = await ask("three", { sessionId });
  const left = await engine.tree.undo(alice, sessionId);
  assert.deepEqual([left.undoneTurnId, left.session.headTurnId], [refused.id, first.id]);
  const fourth = await ask("four", { sessionId });
  assert.equal(fourth.parentId, first.id);
  await engine.tree.undo(alice, sessionId);
  const none = await engine.tree.undo(alice, sessionId);
  assert.deepEqual([none.undoneTurnId, none.session.headTurnId], [first.id, null]);
  assert.equal((await engine.tree.undo(alice, sessionId)).undoneTurnId, null);
  const root = await ask("five", { sessionId });
  assert.deepEqual([root.parentId, root.depth, root.sessionId], [null, 1, sessionId]);
});

test("[T12] after the undo of a turn that did nothing, the next undo goes further back", async (t) => {
  let clock = 0;
  const now = (): number => (clock += 1);
  const { ask, engine } = await testEngine(t, { now, script: failing({ 1: "refused", 4: "refused" }) });
  const nothing = await ask("zero");
  const { sessionId } = nothing;
  const first = await ask("one", { sessionId });
  const second = await ask("two", { sessionId });
  const refused = await ask("three", { sessionId });
  const undone: (string | null)[] = [];
  for (let times = 0; times < 4; times += 1) undone.push((await engine.tree.undo(alice, sessionId)).undoneTurnId);
  assert.deepEqual(undone, [refused.id, second.id, first.id, null]);
});

test("[T12] [T7] retry after several undos, and in a fork without a head, stays in the session", async (t) => {
  const { ask, engine } = await testEngine(t);
  const first = await ask("one");
  const { sessionId } = first;
  await ask("two", { sessionId });
  await ask("three", { sessionId });
  for (let times = 0; times < 2; times += 1) await engine.tree.undo(alice, sessionId);
  const again = await ask("", { sessionId, retry: true });
  assert.deepEqual([again.instructionSummary, again.parentId, again.sessionId], ["two", first.id, sessionId]);
  const fork = await ask("aside", { fork: { turnId: first.id } });
  await engine.tree.undo(alice, fork.sessionId);
  const repeated = await ask("", { sessionId: fork.sessionId, retry: true });
  assert.deepEqual([repeated.sessionId, repeated.parentId], [fork.sessionId, first.id]);
  assert.equal((await engine.sessions.get(alice, fork.sessionId)).headTurnId, repeated.id);
});

test("[T12] [T5] retry and undo of a session that has no turn, or one that runs, are refused or change nothing", async (t) => {
  const { start, engine } = await testEngine(t, { script: () => [{ waits: new Promise<void>(() => {}) }] });
  const { id } = await engine.sessions.create(alice, {});
  await assert.rejects(engine.turns.run(alice, { sessionId: id, retry: true, instruction: "" }), hasCode("not_found"));
  assert.equal((await engine.tree.undo(alice, id)).undoneTurnId, null);
  const running = await start("one", { sessionId: id });
  await assert.rejects(engine.tree.undo(alice, id), hasCode("session_busy"));
  const again = engine.turns.run(alice, { sessionId: id, retry: true, instruction: "" });
  await assert.rejects(again, hasCode("session_busy"));
  await assert.rejects(engine.turns.run(alice, { retry: true, instruction: "" }), hasCode("request_invalid"));
  await engine.turns.interrupt(alice, { turnId: running.turnId });
});
