/** Tests of the checker: a correct history passes, and every violation is found. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { newId } from "../../src/domain/ids.ts";
import type { AgUiEvent } from "../../src/protocol/ag-ui.ts";
import { check } from "./checker.ts";
import type { FinalSession, FinalState, FinalTurn, History, TurnOperation } from "./history.ts";

interface World {
  history: History;
  final: FinalState;
  session: FinalSession;
  turns: [FinalTurn, FinalTurn];
  operations: [TurnOperation, TurnOperation];
}

/** One session of two turns. The client received all events, and two servers return the same. */
function world(): World {
  const sessionId = newId();
  const first = finalTurn({ sequence: 1, parentId: null, word: "w1", sessionId });
  const second = finalTurn({ sequence: 2, parentId: first.id, word: "w2", sessionId });
  const session: FinalSession = {
    id: sessionId,
    org: 0,
    headTurnId: second.id,
    undelivered: 0,
    turns: [first, second],
  };
  const operations: World["operations"] = [operationOf(first, "w1"), operationOf(second, "w2")];
  const history: History = {
    turns: [...operations],

    probes: [{ what: "a session", saw: false }],
    faults: [],
  };
  return { history, final: { sessions: [session] }, session, turns: [first, second], operations };
}

function finalTurn(at: { sequence: number; parentId: string | null; word: string; sessionId: string }): FinalTurn {
  const id = newId();
  const sent: AgUiEvent[] = [
    { type: "RUN_STARTED", threadId: at.sessionId, runId: id, protocolVersion: "1.0" },
    { type: "TEXT_MESSAGE_START", messageId: "m", role: "assistant" },
    { type: "TEXT_MESSAGE_CONTENT", messageId: "m", delta: `${at.word} ` },
    { type: "TEXT_MESSAGE_CONTENT", messageId: "m", delta: "answered" },
    { type: "TEXT_MESSAGE_END", messageId: "m" },
    { type: "RUN_FINISHED", threadId: at.sessionId, runId: id, outcome: { type: "success" } },
  ] as AgUiEvent[];
  const events = sent.map((event, index) => ({ id: `${id}:${index + 1}`, event }));
  return {
    id,
    parentId: at.parentId,
    sequence: at.sequence,
    kind: "agent",
    status: "completed",
    instruction: `Say ${at.word}.`,
    answer: `${at.word} answered`,
    failureCode: null,
    statusAt: "2026-01-01T00:00:00.000Z",
    events: [events, structuredClone(events)],
    splitsRead: 0,
    splitFaults: [],
  };
}

function operationOf(turn: FinalTurn, word: string): TurnOperation {
  const answered = { outcome: "answered", code: null, kind: "answer", errorCode: null, steered: [] } as const;
  const received = turn.events[0] ?? [];
  const answer = { turnId: turn.id, text: turn.answer, received, ...answered, steered: [] };
  return { word, org: 0, sessionId: null, begin: 0, end: 1, ...answer };
}

const faults: [rule: string, what: string, plant: (at: World) => void][] = [
  ["B3", "an answered turn that is gone", ({ session }) => void session.turns.pop()],
  ["T2", "an answer that is stored in another way", ({ turns }) => (turns[0].answer = "something else")],
  ["T13", "an instruction that was carried out twice", ({ turns }) => (turns[0].instruction = turns[1].instruction)],
  ["T5", "a refused instruction that was carried out", ({ operations }) => (operations[0].outcome = "refused")],
  ["T1", "a number that is left out", ({ turns }) => (turns[1].sequence = 3)],
  ["R2", "a turn that runs for ever", ({ turns }) => (turns[1].status = "pending")],
  ["S5", "two turns from one head", ({ turns }) => (turns[1].parentId = null)],
  ["S5", "a head that is not the last turn", ({ session, turns }) => (session.headTurnId = turns[0].id)],
  ["T11", "a stream without an end", ({ turns }) => turns[0].events.forEach((events) => events.pop())],
  ["V2", "two servers that tell a turn differently", ({ turns }) => void turns[0].events[1]?.splice(2, 1)],
  ["V2", "a place that does not resume", ({ turns }) => void turns[0].splitFaults.push("2 events are missing")],
  [
    "V2",
    "an event that a client received twice",
    ({ operations: [{ received }] }) => received.splice(1, 0, ...received.slice(1, 2)),
  ],
  ["V2", "an event that a client never received", ({ operations: [{ received }] }) => void received.splice(2, 1)],
  ["V4", "a message that was taken and is not recorded", ({ operations }) => void operations[0].steered.push("s1")],
  ["A2", "a report that was never delivered", ({ turns }) => (turns[1].kind = "async_subagent")],
  ["A2", "a mailbox that is not empty", ({ session }) => (session.undelivered = 1)],
  ["H4", "a look into another org", ({ history }) => void history.probes.push({ what: "a turn", saw: true })],
];

test("the checker passes a correct history whose text is cut into other pieces", () => {
  const { history, final, turns } = world();
  const pieces = turns[0].events[1] ?? [];
  const whole = { ...pieces[2], event: { type: "TEXT_MESSAGE_CONTENT", messageId: "m", delta: "w1 answered" } };
  pieces.splice(2, 2, whole as (typeof pieces)[number]);
  const { violations, checked } = check(history, final);
  assert.deepEqual(violations, []);
  assert.deepEqual([checked.answered, checked.turns, checked.streams, checked.probes], [2, 2, 4, 1]);
});

for (const [rule, what, plant] of faults) {
  test(`[${rule}] the checker finds ${what}`, () => {
    const planted = world();
    // The client's events are an array of their own.
    planted.operations.forEach((operation) => (operation.received = [...operation.received]));
    plant(planted);
    const { violations } = check(planted.history, planted.final);
    assert.ok(
      violations.some((violation) => violation.rule === rule),
      JSON.stringify(violations),
    );
  });
}

test("the checker passes a message that was recorded as having come too late", () => {
  const { history, final, turns, operations } = world();
  operations[0].steered.push("s1");
  const value = { code: "steer_undelivered", message: "no model call was left to deliver this message: s1" } as const;
  turns[0].events[0]?.push({ id: "x:7", event: { type: "CUSTOM", name: "aptove.warning", value } });
  assert.deepEqual(
    check(history, final).violations.filter(({ rule }) => rule === "V4"),
    [],
  );
});

test("[S5] [T12] the checker expects the next turn below a failed one that has text, and beside one that has none", () => {
  for (const [answer, isHead] of [
    ["w1 ans", true],
    ["", false],
  ] as const) {
    const { history, final, turns, operations } = world();
    Object.assign(turns[0], { status: "failed", failureCode: "runner_lost", answer });
    Object.assign(operations[0], { kind: "error", errorCode: "runner_lost" });
    assert.equal(
      check(history, final).violations.some(({ rule }) => rule === "S5"),
      !isHead,
    );
  }
});
