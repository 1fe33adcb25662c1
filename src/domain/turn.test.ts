import assert from "node:assert/strict";
import { test } from "node:test";
import { failure } from "./errors.ts";
import {
  archiveTurn,
  completeTurn,
  failTurn,
  hasHistory,
  mayBeParent,
  noChain,
  parkTurn,
  summarize,
  type CompletedTurn,
  type FailedTurn,
  type PendingTurn,
  type RunEnd,
} from "./turn.ts";
import { noUsage } from "./usage.ts";

const pending: PendingTurn = {
  id: "t",
  sessionId: "s",
  parentId: null,
  depth: 1,
  kind: "agent",
  spawnedBy: null,
  rerunOf: null,
  createdAt: 1,
  createdBy: "u",
  mode: "ask",
  provider: "p",
  model: "m",
  instructionSummary: "do it",
  workspaceId: null,
  repo: null,
  manifest: {
    agentContext: { id: "default", hash: "a" },
    conversationContext: { id: "default", hash: "b" },
    promptHash: "c",
    toolsHash: "d",
    history: "none",
    settings: {},
    chunks: [],
    activeFiles: [],
    skippedFiles: [],
    historyTurns: 0,
  },
  status: "pending",
  sequence: 1,
  blobs: { opening: "o", run: null, state: null },
  warnings: [],
  runnerId: "r",
  leaseExpiresAt: 2,
};

const end: RunEnd = {
  at: 9,
  answeredAt: 8,
  blobs: { opening: "o", run: "run", state: "state" },
  warnings: [{ code: "chain_rebuilt", message: "why" }],
  run: { durationMs: 8, modelRequests: 1, usage: noUsage, byModel: {} },
  chain: noChain,
  digest: null,
};
const output = { stopReason: "stop", answer: "all of it", lastMessage: "all of it" } as const;

test("[T2] each end of a pending turn keeps its facts and drops what only a running turn has", () => {
  const call = { callId: "c", name: "n", arguments: "{}", waitsFor: "client" } as const;
  const ends = [
    completeTurn(pending, output, end),
    parkTurn(pending, { ...output, deferredCalls: [call] }, end),
    failTurn(pending, failure("interrupted", "stopped"), end),
  ];
  assert.deepEqual(
    ends.map((turn) => turn.status),
    ["completed", "awaiting_tool_results", "failed"],
  );
  for (const turn of ends) {
    assert.equal(turn.statusAt, 9);
    assert.equal(turn.sequence, 1);
    assert.deepEqual(turn.warnings, end.warnings);
    assert.ok(!("runnerId" in turn) && !("leaseExpiresAt" in turn));
  }
});

test("[T2] an archived turn still tells what it was", () => {
  const archived = archiveTurn(failTurn(pending, failure("interrupted", "stopped"), end), 12);
  assert.equal(archived.status, "archived");
  assert.equal(archived.was.status, "failed");
  assert.equal(archived.statusAt, 12);
});

test("[T3] a completed turn without an answer and a failed one without an error do not type-check", () => {
  const { answerSummary: _answer, ...withoutAnswer } = completeTurn(pending, output, end);
  // @ts-expect-error the answer is missing
  const completed: CompletedTurn = withoutAnswer;
  // @ts-expect-error a failed turn has at least one failure
  const failed: FailedTurn = { ...failTurn(pending, failure("interrupted", ""), end), failures: [] };
  assert.ok(completed && failed);
});

test("[T4] summaries hold 1,024 characters, never half a pair, and nothing that a database refuses", () => {
  assert.equal(summarize("x".repeat(2000)).length, 1024);
  assert.equal(summarize(`${"x".repeat(1023)}😀`), "x".repeat(1023));
  assert.equal(summarize("a\u0000b\uD800"), "a\uFFFDb\uFFFD");
});

test("[T4] the final message is kept only where the answer has several", () => {
  assert.equal(completeTurn(pending, output, end).finalMessage, null);
  assert.equal(completeTurn(pending, { ...output, lastMessage: "it" }, end).finalMessage, "it");
});

test("[S5] [T12] finished agent turns may be continued, failed ones only if they keep what they did", () => {
  assert.ok(mayBeParent(completeTurn(pending, output, end)));
  assert.ok(!mayBeParent(pending));
  assert.ok(
    !mayBeParent(failTurn(pending, failure("interrupted", ""), { ...end, blobs: { ...end.blobs, state: null } })),
  );
  const sealed = failTurn(pending, failure("runner_lost", ""), { ...end, blobs: { ...end.blobs, state: "state" } });
  assert.ok(mayBeParent(sealed));
  assert.ok(!mayBeParent({ ...sealed, kind: "async_subagent" }) && hasHistory({ ...sealed, kind: "async_subagent" }));
  assert.ok(!mayBeParent(completeTurn({ ...pending, kind: "async_subagent" }, output, end)));
});
