import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { anyCharacter } from "../../../../testing/any-character.ts";
import { archiveTurn, type FinishedTurn, type PendingTurn, type Turn } from "../../../domain/turn.ts";
import { completedSample, draftOf, failedSample, parkedSample, pendingOf, sessionOf } from "../../suite/samples.ts";
import { plainEnds } from "../ends/plain-ends.ts";
import { rowToTurn, turnToRow } from "./turn-row.ts";

const usage = fc.record(
  { input: fc.nat(), output: fc.nat(), cached: fc.nat(2), reasoning: fc.nat(2), total: fc.nat() },
  { noNullPrototype: true },
);
const anyText = fc.string({ unit: anyCharacter });
const model = fc.oneof(fc.constantFrom("m", "__proto__", "usage"), anyText);

/** Turns in which the values that a row omits or shortens are frequent. */
const pending: fc.Arbitrary<PendingTurn> = fc
  .record({
    model,
    mode: fc.oneof(fc.constant("ask"), anyText),
    kind: fc.constantFrom("agent" as const, "async_subagent" as const),
    spawnedBy: fc.option(anyText),
    instructionSummary: anyText,
    settings: fc.oneof(fc.constant({}), fc.constant({ temperature: 0 })),
    contextId: fc.oneof(fc.constant("default"), anyText),
    sequence: fc.nat(),
    run: fc.option(fc.constantFrom("run.json", "a/b")),
  })
  .map(({ settings, contextId, sequence, run, ...facts }) => {
    const draft = draftOf(sessionOf(), facts);
    const manifest = { ...draft.manifest, settings, agentContext: { id: contextId, hash: "h" } };
    const blobs = {
      opening: "shared/opening.json",
      run: run === null ? null : `turns/${draft.id}/${run}`,
      state: null,
    };
    return { ...pendingOf(draft, sequence), manifest, blobs };
  });

const finished: fc.Arbitrary<FinishedTurn> = fc
  .record({
    turn: pending,
    end: fc.constantFrom(completedSample, parkedSample, failedSample),
    usage,
    otherModels: fc.dictionary(model, usage, { maxKeys: 2, noNullPrototype: true }),
    isOnlyModel: fc.boolean(),
    finalMessage: fc.option(anyText),
  })
  .map(({ turn, end, usage: spent, otherModels, isOnlyModel, finalMessage }) => {
    const byModel = isOnlyModel ? { [turn.model]: { ...spent } } : otherModels;
    const run = { durationMs: 1, modelRequests: 1, usage: spent, byModel };
    const ended = end(turn, { run });
    return ended.status === "failed" ? ended : { ...ended, finalMessage };
  });

function roundTrip(turn: Turn): Turn {
  // Database engines keep text as UTF-8, so a row must not contain what UTF-8 cannot express.
  const row = Object.entries(turnToRow(turn)).map(([column, value]) => [
    column,
    typeof value === "string" ? Buffer.from(value).toString() : value,
  ]);
  return rowToTurn(Object.fromEntries(row) as ReturnType<typeof turnToRow>, plainEnds);
}

test("[T3] any turn reads back from its row unchanged: pending, completed, waiting, failed or archived", () => {
  fc.assert(fc.property(pending, (turn) => assert.deepEqual(roundTrip(turn), turn)));
  fc.assert(fc.property(finished, (turn) => assert.deepEqual(roundTrip(turn), turn)));
  fc.assert(
    fc.property(finished, (turn) => {
      const archived = archiveTurn(turn, turn.statusAt + 1);
      assert.deepEqual(roundTrip(archived), archived);
    }),
  );
});

test("[K1] the size of a row depends on its content, not on the depth of the history", () => {
  const sizeAt = (depth: number): number => {
    const turn = pendingOf(draftOf(sessionOf(), { depth, provider: "offline", model: "offline-1" }), depth);
    return JSON.stringify(turnToRow(completedSample(turn))).length;
  };
  assert.ok(sizeAt(10) < 1_024, `a row takes ${sizeAt(10)} bytes`);
  assert.ok(sizeAt(100_000) - sizeAt(10) < 20);
});
