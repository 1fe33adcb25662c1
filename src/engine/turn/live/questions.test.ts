/** The open questions of running turns: listed, answered by any client of the session, in any process (V5). */
import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { all, alice, testEngine, testParts, testRunner, type TestEngineOptions } from "../../../../testing/engine.ts";
import { hasCode } from "../../../../testing/refusals.ts";
import { memoryRecords } from "../../../records/memory/memory-records.ts";
import type { Caller } from "../../../domain/caller.ts";
import type { TurnEvent } from "../../../domain/events.ts";
import { newId } from "../../../domain/ids.ts";
import { limits } from "../../../domain/limits.ts";
import type { ToolCallView } from "../../../domain/tool.ts";
import type { Tool } from "../../../tools/tool.ts";
import { createEngine } from "../../create-engine.ts";
import type { ApprovalQuestion, RunningTurn, TurnRequest } from "../../engine.ts";

const view: ToolCallView = { title: "Edit a.ts", kind: "edit", locations: [], content: [], permission: null };

async function asking(t: TestContext, options: TestEngineOptions & { request?: Partial<TurnRequest> } = {}) {
  const { request, ...parts } = options;
  const script = (_call: unknown, n: number) =>
    n === 1 ? [{ calls: "edit", callId: "c1", with: { path: "a.ts" } }] : "fine";
  let runs = 0;
  const edit: Tool = {
    definition: { name: "edit", parameters: { type: "object" }, effect: "write" },
    needsApproval: () => true,
    view: () => view,
    run: async () => ((runs += 1), { output: "edited", isError: false }),
  };
  const world = await testEngine(t, { script, ...parts });
  const start = () =>
    world.start("change it", { mode: "edit", ownTools: [edit], askApproval: async () => null, ...request });
  return { ...world, start, runs: () => runs };
}

/** Resolves when the question is open. */
async function untilAsked(turn: RunningTurn): Promise<void> {
  for await (const { event } of turn.events()) if (event.type === "tool_call_view" && event.asks === true) return;
  assert.fail("the turn ended without a question");
}

async function typesOf(turn: RunningTurn): Promise<TurnEvent["type"][]> {
  return (await all(turn.events())).map(({ event }) => event.type);
}

test("[V5] a question that its client leaves stays open; it is listed, and the first answer of anyone who may continue counts", async (t) => {
  const { engine, caller, start, runs } = await asking(t);
  const turn = await start();
  await untilAsked(turn);
  const { turnId, sessionId } = turn;
  assert.deepEqual(await engine.turns.questions(caller, turnId), [
    { callId: "c1", name: "edit", args: { path: "a.ts" }, view },
  ]);
  assert.equal((await engine.turns.running(caller, sessionId))?.turn.id, turnId);
  await engine.turns.answerQuestion(caller, { turnId, callId: "c1", approved: true });
  const late = engine.turns.answerQuestion(caller, { turnId, callId: "c1", approved: false });
  await assert.rejects(late, hasCode("question_not_open"));
  assert.equal((await turn.finished).status, "completed");
  assert.equal(runs(), 1);
  assert.deepEqual(await engine.turns.questions(caller, turnId), []);
  assert.equal(await engine.turns.running(caller, sessionId), null);
  const types = await typesOf(turn);
  const from = types.indexOf("tool_call_view");
  assert.deepEqual(types.slice(from, from + 3), ["tool_call_view", "approval_answered", "tool_result"]);
});

test("[V5] a question that a client asks and another answers is withdrawn from the first one", async (t) => {
  const asked = Promise.withResolvers<ApprovalQuestion>();
  const request = { askApproval: (one: ApprovalQuestion) => (asked.resolve(one), new Promise<null>(() => {})) };
  const { engine, caller, start, runs } = await asking(t, { request });
  const turn = await start();
  const { signal } = await asked.promise;
  const { turnId } = turn;
  await engine.turns.answerQuestion(caller, { turnId, callId: "c1", approved: false, reason: "not now" });
  assert.equal((await turn.finished).status, "completed");
  assert.ok(signal.aborted);
  assert.equal(runs(), 0);
  const results = (await all(turn.events())).flatMap(({ event }) =>
    event.type === "tool_result" ? [event.output] : [],
  );
  assert.deepEqual(results, ["denied: not now"]);
});

test("[V5] what is decided without a person is never a question", async (t) => {
  const request: Partial<TurnRequest> = {
    decideApproval: async () => ({ approved: true }),
    askApproval: async () => assert.fail("a person was asked"),
  };
  const { start, runs } = await asking(t, { request });
  const turn = await start();
  assert.equal((await turn.finished).status, "completed");
  assert.equal(runs(), 1);
  assert.ok(!(await typesOf(turn)).includes("approval_answered"));
});

test("[V5] [H4] who may only read a session, and who may not see it, answers none of its questions", async (t) => {
  const records = memoryRecords();
  const { engine, caller, start } = await asking(t, { records });
  const turn = await start();
  await untilAsked(turn);
  const { turnId, sessionId } = turn;
  const answer = { turnId, callId: "c1", approved: true as const };
  const stranger: Caller = { ...alice, userId: newId(), role: "member" };
  await assert.rejects(engine.turns.questions(stranger, turnId), hasCode("not_found"));
  await assert.rejects(engine.turns.running(stranger, sessionId), hasCode("not_found"));
  await assert.rejects(engine.turns.answerQuestion(stranger, answer), hasCode("not_found"));
  await engine.sessions.update(caller, sessionId, { isPublic: true });
  assert.equal((await engine.turns.questions(stranger, turnId)).length, 1);
  await assert.rejects(engine.turns.answerQuestion(stranger, answer), hasCode("forbidden"));
  await engine.turns.answerQuestion(caller, answer);
  await turn.finished;
});

test("[V5] [R3] another process lists the question and answers it", async (t) => {
  const { engine, caller, deps, start, runs } = await asking(t);
  const other = await createEngine({ ...testParts(), ...deps, runner: testRunner() });
  t.after(() => other.close({ graceMs: 0 }));
  const turn = await start();
  await untilAsked(turn);
  const { turnId, sessionId } = turn;
  assert.equal((await other.turns.running(caller, sessionId))?.turn.id, turnId);
  assert.equal((await other.turns.questions(caller, turnId))[0]?.view.title, "Edit a.ts");
  await assert.rejects(
    other.turns.answerQuestion(caller, { turnId, callId: "c2", approved: true }),
    hasCode("question_not_open"),
  );
  await other.turns.answerQuestion(caller, { turnId, callId: "c1", approved: true });
  assert.equal((await turn.finished).status, "completed");
  assert.equal(runs(), 1);
  await assert.rejects(
    other.turns.answerQuestion(caller, { turnId, callId: "c1", approved: true }),
    hasCode("question_not_open"),
  );
  await engine.close();
});

test("[V5] [R3] of the answers of two other processes one is accepted, and it counts", async (t) => {
  // No process looks for answers by itself.
  t.mock.timers.enable({ apis: ["setInterval"] });
  const { caller, deps, start, runs } = await asking(t);
  const others = await Promise.all([1, 2].map(() => createEngine({ ...testParts(), ...deps, runner: testRunner() })));
  t.after(() => Promise.all(others.map((other) => other.close({ graceMs: 0 }))));
  const turn = await start();
  await untilAsked(turn);
  const { turnId } = turn;
  const [one, two] = others;
  await one?.turns.answerQuestion(caller, { turnId, callId: "c1", approved: false, reason: "not now" });
  const second = async (): Promise<void> =>
    await two?.turns.answerQuestion(caller, { turnId, callId: "c1", approved: true });
  await assert.rejects(second(), hasCode("question_not_open"));
  // The runner deletes the answer when the others can read that the question is answered.
  const { deleteControls } = deps.records.runners;
  const third = Promise.withResolvers<void>();
  deps.records.runners.deleteControls = async (ids) => {
    await deleteControls.call(deps.records.runners, ids);
    second().then(third.resolve, third.reject);
  };
  t.mock.timers.tick(limits.controlPollMs);
  await assert.rejects(third.promise, hasCode("question_not_open"));
  assert.equal((await turn.finished).status, "completed");
  assert.equal(runs(), 0);
});

test("[V5] [T10] a question ends with its turn", async (t) => {
  const { engine, caller, start, runs } = await asking(t);
  const turn = await start();
  await untilAsked(turn);
  await engine.turns.interrupt(caller, { turnId: turn.turnId });
  const finished = await turn.finished;
  assert.equal(finished.status === "completed" && finished.stopReason, "interrupted");
  const answer = { turnId: turn.turnId, callId: "c1", approved: true as const };
  await assert.rejects(engine.turns.answerQuestion(caller, answer), hasCode("question_not_open"));
  assert.equal(runs(), 0);
});
