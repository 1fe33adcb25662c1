/** What a store must do when turns and steps are read. Opening and finishing turns have files of their own. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { failure } from "../../domain/errors.ts";
import { newId } from "../../domain/ids.ts";
import type { FinishedTurn, PendingTurn, Turn, TurnDraft } from "../../domain/turn.ts";
import type { Session } from "../../domain/session.ts";
import {
  awkwardText,
  completedSample,
  draftOf,
  runEndOf,
  failedSample,
  finishSampleTurn,
  noon,
  openSampleTurn,
  openingOf,
  parkedSample,
  pendingOf,
  plainManifest,
  runSampleTurn,
  sampleRunnerId,
  startSession,
  stepOf,
  type OpenRecordsForTest,
  inviteUser,
} from "./samples.ts";
import { turnFinishingTests } from "./turn-finishing.ts";
import { turnOpeningTests } from "./turn-opening.ts";

/** The parts that these tests need. */
type Parts = "sessions" | "turns";

/** Returns a turn with a value in every field. */
function richDraft(session: Session): TurnDraft {
  const warning = { code: "chain_rebuilt", message: awkwardText } as const;
  return draftOf(session, {
    kind: "async_subagent",
    depth: 1_000_000,
    spawnedBy: newId(),
    rerunOf: newId(),
    createdBy: "it's me",
    mode: `{"mode": 1}`,
    provider: "null",
    model: '"m"',
    instructionSummary: awkwardText,
    workspaceId: "default",
    repo: "it's",
    blobs: { opening: "a", run: "b", state: "c" },
    warnings: [warning, warning],
    manifest: {
      agentContext: { id: "a", hash: "1" },
      conversationContext: { id: "b", hash: "2" },
      promptHash: "",
      toolsHash: "false",
      history: "chain",
      settings: { temperature: 0, maxOutputTokens: 10, reasoningEffort: "low" },
      chunks: [
        { id: "c1", path: "a'b.ts", startLine: 1, endLine: 2, contentHash: "h", wasSent: true },
        {
          id: "c2",
          path: "c",
          startLine: 3,
          endLine: 3,
          contentHash: "h",
          wasSent: false,
          notSentBecause: "already_sent",
        },
      ],
      activeFiles: [
        { path: "x", contentHash: "h", sizeBytes: null, isTouched: true, wasSentToLLM: false, wasTooLargeToSend: true },
      ],
      skippedFiles: [{ path: awkwardText, reason: "content_missing", sizeBytes: null }],
      historyTurns: 7,
    },
  });
}

const richEnd = {
  at: noon + 2,
  answeredAt: null,
  blobs: { opening: "d", run: null, state: null },
  warnings: [{ code: "provider_retried", message: "" } as const],
  run: {
    durationMs: 0,
    modelRequests: 3,
    usage: { input: 1, output: 2, cached: 3, reasoning: 4, total: 2 ** 40 },
    byModel: { [awkwardText]: { input: 0, output: 0, cached: 0, reasoning: 0, total: 0 } },
  },
  chain: { account: "acc", responseId: awkwardText, previousResponseId: "", expiresAt: noon * 2 },
};

/** Returns one turn for every way to end, plain and with every field set. */
function endsOf(turn: PendingTurn): FinishedTurn[] {
  const call = { callId: awkwardText, name: "edit", arguments: awkwardText, waitsFor: "approval" } as const;
  const texts = { answerSummary: awkwardText, finalMessage: awkwardText };
  const failures: [ReturnType<typeof failure>] = [failure("provider_answer_invalid", awkwardText)];
  return [
    completedSample(turn),
    { ...completedSample(turn, richEnd), ...texts, stopReason: "interrupted" },
    { ...parkedSample(turn), deferredCalls: [] },
    { ...parkedSample(turn, richEnd), ...texts, deferredCalls: [call, call] },
    failedSample(turn),
    { ...failedSample(turn, richEnd), failures: [...failures, ...failures] },
  ];
}

export function turnTests(open: OpenRecordsForTest<Parts>): void {
  turnOpeningTests(open);
  turnFinishingTests(open);

  test("[R2] the steps of a turn come back in order, while it runs", async (context) => {
    const { store } = await open(context);
    const session = await startSession(store);
    const turn = await openSampleTurn(store, openingOf(draftOf(session)));
    const other = await openSampleTurn(store, openingOf(draftOf(session, { kind: "async_subagent" })));
    const broken = stepOf(turn.id, 1, {
      outcome: { status: "failed", failure: failure("provider_stream_cut", awkwardText) },
      previousResponseId: awkwardText,
      responseId: "r",
    });
    const steps = [broken, stepOf(turn.id, 2), stepOf(turn.id, 10)];
    for (const step of [...steps.toReversed(), stepOf(other.id, 1)]) await store.turns.insertStep(step, sampleRunnerId);
    assert.deepEqual(await store.turns.listSteps(turn.id), steps);
    assert.deepEqual(await store.turns.listSteps(newId()), []);
    await assert.rejects(store.turns.insertStep(stepOf(turn.id, 2, { model: "another" }), sampleRunnerId), {
      code: "storage_failed",
    });
    assert.deepEqual(await store.turns.listSteps(turn.id), steps);
    assert.equal(await store.turns.insertStep(broken, sampleRunnerId), true, "the same step, inserted again");
    assert.equal(await store.turns.insertStep(broken, "another"), false);
    assert.deepEqual(await store.turns.listSteps(turn.id), steps);
  });

  test("[T3] a pending turn comes back as it was opened, plain or with every field set", async (context) => {
    const { store } = await open(context);
    const session = await startSession(store);
    await inviteUser(store, session.id, richDraft(session).createdBy);
    for (const draft of [draftOf(session), richDraft(session)]) {
      const turn = await openSampleTurn(store, openingOf(draft, { expectedHead: null }));
      assert.deepEqual(turn, { ...draft, sequence: turn.sequence, leaseExpiresAt: turn.leaseExpiresAt });
      assert.deepEqual(await store.turns.get(turn.id), turn);
    }
  });

  test("[T3] a finished turn comes back as it ended, whichever way it ended", async (context) => {
    const { store } = await open(context);
    const session = await startSession(store);
    await inviteUser(store, session.id, richDraft(session).createdBy);
    for (const way of endsOf(pendingOf(draftOf(session), 1)).keys()) {
      const turn = await openSampleTurn(store, openingOf(richDraft(session), { expectedHead: null }));
      const end = endsOf(turn)[way] ?? assert.fail("there is no such end");
      await finishSampleTurn(store, end);
      assert.deepEqual(await store.turns.get(turn.id), end);
    }
    const plain = draftOf(session, { manifest: { ...plainManifest, history: "replay" } });
    const turn = await openSampleTurn(store, openingOf(plain));
    await finishSampleTurn(store, completedSample(turn, runEndOf(turn, { answeredAt: null })));
    assert.deepEqual(await store.turns.get(turn.id), completedSample(turn, { answeredAt: null }));
  });

  test("[B1] an unknown turn is null, and a session without turns has none", async (context) => {
    const { store } = await open(context);
    const session = await startSession(store);
    assert.equal(await store.turns.get(newId()), null);
    assert.equal(await store.turns.findPending(session.id), null);
    assert.equal(await store.turns.findPending(newId()), null);
    assert.deepEqual(await store.turns.list(session.id, { limit: 10 }), []);
    assert.deepEqual(await store.turns.list(newId(), { limit: 10 }), []);
  });

  test("[T1] turns are listed from the newest, page by page", async (context) => {
    const { store } = await open(context);
    const session = await startSession(store);
    const turns: FinishedTurn[] = [];
    for (let count = 0; count < 5; count += 1) turns.unshift(await runSampleTurn(store, session.id));
    await runSampleTurn(store, (await startSession(store)).id);
    assert.deepEqual(await store.turns.list(session.id, { limit: 10 }), turns);
    assert.deepEqual(await store.turns.list(session.id, { limit: 2 }), turns.slice(0, 2));
    assert.deepEqual(await store.turns.list(session.id, { before: 4, limit: 2 }), turns.slice(2, 4));
    assert.deepEqual(await store.turns.list(session.id, { before: 2, limit: 2 }), turns.slice(4));
    assert.deepEqual(await store.turns.list(session.id, { before: 1, limit: 2 }), []);
  });

  test("[S7] the last turns of several sessions are found at once: the newest, also one that runs", async (context) => {
    const { store } = await open(context);
    const [first, second, empty, other] = [
      await startSession(store),
      await startSession(store),
      await startSession(store),
      await startSession(store),
    ];
    await runSampleTurn(store, first.id);
    const last = await runSampleTurn(store, first.id);
    await runSampleTurn(store, other.id);
    const running = await openSampleTurn(store, openingOf(draftOf(second)));
    const found = await store.turns.listLast([first.id, second.id, empty.id, newId(), first.id]);
    assert.deepEqual(
      new Map(found.map((turn) => [turn.sessionId, turn])),
      new Map<string, Turn>([
        [first.id, last],
        [second.id, running],
      ]),
    );
    assert.equal(found.length, 2);
    assert.deepEqual(await store.turns.listLast([]), []);
  });

  test("[W6] all pending turns are listed, of agents and of subagents", async (context) => {
    const { store } = await open(context);
    const [first, second] = [await startSession(store), await startSession(store)];
    const subagent = await openSampleTurn(store, openingOf(draftOf(first, { kind: "async_subagent" })));
    const ended = await openSampleTurn(store, openingOf(draftOf(first)));
    const running = await openSampleTurn(store, openingOf(draftOf(second)));
    await finishSampleTurn(store, completedSample(ended));
    const expected = [subagent, running].toSorted((a, b) => (a.id < b.id ? -1 : 1));
    assert.deepEqual(await store.turns.listPending(), expected);
  });

  test("[R2] the pending agent turn of a session is found", async (context) => {
    const { store } = await open(context);
    const [first, second] = [await startSession(store), await startSession(store)];
    await openSampleTurn(store, openingOf(draftOf(first, { kind: "async_subagent" })));
    assert.equal(await store.turns.findPending(first.id), null);
    const turn = await openSampleTurn(store, openingOf(draftOf(first)));
    await openSampleTurn(store, openingOf(draftOf(second)));
    assert.deepEqual(await store.turns.findPending(first.id), turn);
    await finishSampleTurn(store, completedSample(turn));
    assert.equal(await store.turns.findPending(first.id), null);
  });
}
