import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { newId } from "../../../domain/ids.ts";
import { archiveTurn, type CompletedTurn } from "../../../domain/turn.ts";
import { plainEnds } from "../../../records/sql/ends/plain-ends.ts";
import { turnToRow, rowToTurn } from "../../../records/sql/rows/turn-row.ts";
import {
  awkwardText,
  completedSample,
  draftOf,
  failedSample,
  parkedSample,
  pendingOf,
  sessionOf,
  stepOf,
} from "../../../records/suite/samples.ts";
import { turnDigest, type SealedParts } from "./turn-digest.ts";

const pending = pendingOf(draftOf(sessionOf()), 1);
const parts: SealedParts = {
  parent: "p".repeat(64),
  steps: [stepOf(pending.id, 1), stepOf(pending.id, 2)],
  hashes: { opening: "o", run: "r", state: null },
};

test("[D2] [B2] a digest is the same before and after a turn was a row, whatever is in it", () => {
  const number = fc.oneof(fc.double({ noNaN: false }), fc.constantFrom(-0, 0, 2 ** 53, 1e21));
  const usage = fc.record(
    { input: number, output: number, cached: number, reasoning: number, total: number, costUsd: number },
    { requiredKeys: ["input", "output", "cached", "reasoning", "total"] },
  );
  const text = fc.oneof(fc.string(), fc.constant(awkwardText), fc.constant("__proto__"));
  const over = fc.record({
    instructionSummary: text,
    model: text,
    mode: text,
    repo: fc.option(text),
    rerunOf: fc.option(fc.constant(newId())),
    answeredAt: fc.option(fc.nat()),
    run: fc.record({ durationMs: number, modelRequests: fc.nat(), usage, byModel: fc.dictionary(text, usage) }),
    chain: fc.record({
      account: fc.option(text),
      responseId: fc.option(text),
      previousResponseId: fc.constant(null),
      expiresAt: fc.option(fc.nat()),
    }),
    settings: fc.record({ temperature: number, maxOutputTokens: fc.constant(undefined) }, { requiredKeys: [] }),
  });
  const property = fc.property(over, ({ settings, ...fields }) => {
    for (const end of [completedSample(pending), parkedSample(pending), failedSample(pending)]) {
      const manifest = { ...end.manifest, settings: settings as { temperature?: number } };
      const turn = { ...end, ...fields, manifest, digest: null };
      const back = rowToTurn(turnToRow(turn), plainEnds);
      assert.ok(back.status !== "pending");
      assert.equal(turnDigest(back, parts), turnDigest(turn, parts));
    }
  });
  fc.assert(property, { numRuns: 200 });
});

test("[D2] any field of a turn, a step or a blob that changes gives another digest", () => {
  const turn = completedSample(pending);
  const digest = turnDigest(turn, parts);
  const others: Partial<CompletedTurn>[] = [
    { id: newId() },
    { parentId: newId() },
    { sequence: 2 },
    { createdBy: "another user" },
    { answerSummary: "No." },
    { stopReason: "length" },
    { blobs: { ...turn.blobs, run: null } },
    { manifest: { ...turn.manifest, promptHash: "other" } },
    { manifest: { ...turn.manifest, chunks: [{ ...chunk, contentHash: "other" }] } },
    { warnings: [{ code: "step_limit", message: "" }] },
    { run: { ...turn.run, usage: { ...turn.run.usage, output: 1 } } },
    { chain: { ...turn.chain, responseId: "other" } },
  ];
  const seals: SealedParts[] = [
    { ...parts, parent: null },
    { ...parts, steps: [] },
    { ...parts, steps: [stepOf(pending.id, 1), stepOf(pending.id, 2, { responseId: "other" })] },
    { ...parts, hashes: { ...parts.hashes, opening: "other" } },
    { ...parts, hashes: { ...parts.hashes, run: null } },
    { ...parts, hashes: { ...parts.hashes, state: "other" } },
  ];
  const digests = [
    digest,
    ...others.map((over) => turnDigest({ ...turn, ...over }, parts)),
    ...seals.map((seal) => turnDigest(turn, seal)),
  ];
  assert.equal(new Set(digests).size, 1 + others.length + seals.length);
});

const chunk = { id: "c", path: "a.ts", startLine: 1, endLine: 2, contentHash: "h", wasSent: true };

test("[D2] [T2] to put a turn away changes nothing that is sealed", () => {
  for (const turn of [completedSample(pending), parkedSample(pending), failedSample(pending)]) {
    assert.equal(turnDigest(archiveTurn(turn, turn.statusAt + 1), parts), turnDigest(turn, parts));
  }
});

test("[D2] the order of fields and of steps does not count, nor a field that says nothing", () => {
  const turn = completedSample(pending);
  const turned = Object.fromEntries(Object.entries(turn).toReversed()) as unknown as CompletedTurn;
  const more = { ...turned, fieldOfALaterVersion: null, another: undefined };
  const steps = parts.steps.toReversed();
  assert.equal(turnDigest(more, { ...parts, steps }), turnDigest(turn, parts));
});
