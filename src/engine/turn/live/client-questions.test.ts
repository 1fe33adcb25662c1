/** Questions of clients about calls of their own tools: kept in the records, answered by any client of the session (V5). */
import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { alice, testEngine, type TestEngine } from "../../../../testing/engine.ts";
import { hasCode } from "../../../../testing/refusals.ts";
import { limits } from "../../../domain/limits.ts";
import { newId } from "../../../domain/ids.ts";
import type { ToolCallView } from "../../../domain/tool.ts";

const view: ToolCallView = {
  title: "Write a.ts",
  kind: "edit",
  locations: [],
  content: [{ type: "diff", path: "/r/a.ts", oldText: "old\n", newText: "new\n" }],
  permission: null,
};

interface Parked extends TestEngine {
  turnId: string;
  sessionId: string;
  question: { turnId: string; callId: string; askerId: string; view: ToolCallView };
}

async function parked(t: TestContext, now?: () => number): Promise<Parked> {
  const script = () => [{ calls: "write", callId: "c1", with: { path: "a.ts" } }];
  const world = await testEngine(t, { script, ...(now !== undefined && { now }) });
  const tools = [{ name: "write", parameters: { type: "object" }, effect: "write" as const }];
  const turn = await world.ask("change it", { mode: "edit", tools });
  assert.equal(turn.status, "awaiting_tool_results");
  const { id: turnId, sessionId } = turn;
  return { ...world, turnId, sessionId, question: { turnId, callId: "c1", askerId: newId(), view } };
}

test("[V5] [U8] what a client asks about its own tool is in the list of what waits, with the change, until the first answer", async (t) => {
  const { engine, caller, turnId, sessionId, question } = await parked(t);
  assert.deepEqual(await engine.turns.waiting(caller), []);
  assert.equal(await engine.turns.askQuestion(caller, question), null);
  const shown = { callId: "c1", name: "write", args: { path: "a.ts" }, view };
  assert.deepEqual(await engine.turns.questions(caller, turnId), [shown]);
  const [waiting] = await engine.turns.waiting(caller);
  assert.partialDeepStrictEqual(waiting, { ...shown, sessionId, turnId, isParked: false });
  await engine.turns.answerQuestion(caller, { turnId, callId: "c1", approved: false, reason: "not now" });
  const late = engine.turns.answerQuestion(caller, { turnId, callId: "c1", approved: true });
  await assert.rejects(late, hasCode("question_not_open"));
  assert.deepEqual(await engine.turns.askQuestion(caller, question), { approved: false, reason: "not now" });
  assert.deepEqual(await engine.turns.waiting(caller), []);
  assert.equal(await engine.turns.askQuestion(caller, { ...question, askerId: newId() }), null, "a new time of asking");
});

test("[V5] a question that its client no longer renews is not open, and a withdrawn one neither", async (t) => {
  const { engine, caller, turnId, question, deps } = await parked(t);
  await engine.turns.askQuestion(caller, question);
  await engine.turns.withdrawQuestion(caller, { ...question, askerId: newId() });
  assert.equal((await engine.turns.questions(caller, turnId)).length, 1);
  await engine.turns.withdrawQuestion(caller, question);
  assert.deepEqual(await engine.turns.questions(caller, turnId), []);
  await deps.records.questions.ask({ ...question, leaseMs: 0 });
  assert.deepEqual(await engine.turns.waiting(caller), []);
  const answer = engine.turns.answerQuestion(caller, { turnId, callId: "c1", approved: true });
  await assert.rejects(answer, hasCode("question_not_open"));
});

test("[V5] a question that the session went past, of a call that is not the client's, or too large to show, is refused", async (t) => {
  const { engine, caller, sessionId, question, ask } = await parked(t);
  const asked = (more: object): Promise<unknown> => engine.turns.askQuestion(caller, { ...question, ...more });
  await assert.rejects(asked({ callId: "c2" }), hasCode("question_not_open"));
  await assert.rejects(asked({ turnId: newId() }), hasCode("not_found"));
  const content = [{ type: "text", text: "x".repeat(limits.questionBytesMax) }];
  await assert.rejects(asked({ view: { ...view, content } }), hasCode("request_invalid"));
  await engine.turns.askQuestion(caller, question);
  await ask("never mind", { sessionId });
  assert.deepEqual(await engine.turns.waiting(caller), [], "the call was closed by the next turn");
});

test("[V5] [H4] who may only read the session, or may not see it, neither asks nor answers", async (t) => {
  const { engine, caller, turnId, sessionId, question } = await parked(t);
  await engine.turns.askQuestion(caller, question);
  const other = { ...alice, userId: newId() };
  const answer = { turnId, callId: "c1", approved: true } as const;
  await assert.rejects(engine.turns.answerQuestion(other, answer), hasCode("not_found"));
  await assert.rejects(engine.turns.askQuestion(other, question), hasCode("not_found"));
  await engine.sharing.change(caller, sessionId, { isPublic: true });
  for (const refused of [
    engine.turns.answerQuestion(other, answer),
    engine.turns.askQuestion(other, question),
    engine.turns.withdrawQuestion(other, question),
  ]) {
    await assert.rejects(refused, hasCode("forbidden"));
  }
  assert.deepEqual(await engine.turns.waiting(other), []);
});
