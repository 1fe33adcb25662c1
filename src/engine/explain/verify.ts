/**
 * Recomputes the digests of a session, from the root of its history, and finds the first turn that does not match (D2).
 */
import type { Caller } from "../../domain/caller.ts";
import { AptoveError, failureOf } from "../../domain/errors.ts";
import type { VerifyReport } from "../api/explanation.ts";
import { sha256 } from "../../domain/ids.ts";
import type { Session } from "../../domain/session.ts";
import type { Step } from "../../domain/step.ts";
import type { EngineCore } from "../turn/live/engine-core.ts";
import { Histories } from "../turn/kept/histories.ts";
import { readPart, readForeignSource } from "../turn/kept/kept-parts.ts";
import { visibleSession } from "../access/visible.ts";
import { turnDigest, type BlobHashes } from "../turn/kept/turn-digest.ts";
import { finishedTurns, turnsWithLineage, type StoredTurn } from "../turn/kept/turn-order.ts";
import { blobKeys, readBootPrompt } from "../turn/kept/turn-blobs.ts";
import { turnReader } from "../turn/turn-reader.ts";

export type OnTurn = (done: number, total: number) => void;

/**
 * Returns the result of the check. It reads everything from the stores and nothing from caches, and skips turns that
 * are running. Content that cannot be read is a fault of its turn, and is never thrown. Throws `not_found` for a
 * session that the caller may not see.
 */
export async function verifySession(
  core: EngineCore,
  caller: Caller,
  { sessionId, onTurn }: { sessionId: string; onTurn: OnTurn | undefined },
): Promise<VerifyReport> {
  const session = await visibleSession(core.deps, caller, sessionId);
  const total = await expectedTotal(core, session);
  const report: VerifyReport = { sessionId, turnsChecked: 0, turnsUnsealed: 0, fault: null };
  const cold: EngineCore = { ...core, histories: new Histories(core.deps.blobs, core.deps.records) };
  /** The digests of the turns that were read so far, by turn. */
  const digests = new Map<string, string | null>();
  for await (const batch of finishedTurns(turnsWithLineage(core.deps.records, session))) {
    const found = await Promise.all(batch.map((turn) => readTurn(cold, turn)));
    for (const stored of found) {
      const { turn } = stored;
      const reason = faultOf(stored, turn.parentId === null ? null : digests.get(turn.parentId));
      if (turn.digest === null && reason === null) report.turnsUnsealed += 1;
      else report.turnsChecked += 1;
      if (reason !== null) return { ...report, fault: { turnId: turn.id, sequence: turn.sequence, reason } };
      digests.set(turn.id, turn.digest);
      onTurn?.(digests.size, Math.max(total, digests.size));
    }
  }
  return report;
}

/** Returns why a turn cannot be read, or does not match its digest. Null if it is whole. It reads nothing from caches. */
export async function turnFault(core: EngineCore, turn: StoredTurn): Promise<string | null> {
  const { blobs, records } = core.deps;
  const parent = turn.parentId === null ? null : await records.turns.get(turn.parentId);
  const isKnown = parent !== null && parent.status !== "pending";
  const digest = turn.parentId === null ? null : isKnown ? parent.digest : undefined;
  return faultOf(await readTurn({ ...core, histories: new Histories(blobs, records) }, turn), digest);
}

async function expectedTotal({ deps }: EngineCore, { originTurnId, lastSequence }: Session): Promise<number> {
  const origin = originTurnId === null ? null : await deps.records.turns.get(originTurnId);
  return (origin?.depth ?? 0) + lastSequence;
}

/** A turn with the content that its digest covers, or the reason why it cannot be read. */
type ReadTurn =
  | { turn: StoredTurn; steps: Step[]; hashes: BlobHashes; lostRequest: string | null }
  | { turn: StoredTurn; unreadable: string };

async function readTurn(core: EngineCore, turn: StoredTurn): Promise<ReadTurn> {
  const steps = await core.deps.records.turns.listSteps(turn.id);
  try {
    const { opening, run, state } = turn.blobs;
    const [openingHash, runHash, stateHash] = await Promise.all([
      blobHash(core, opening),
      run === null ? null : blobHash(core, run),
      state === null ? null : blobHash(core, state),
      checkPrompt(core, turn),
      ...(turn.input ?? []).flatMap(({ content }) => (content === null ? [] : [readPart(core.deps.blobs, content)])),
      ...(turn.foreign === undefined ? [] : [readForeignSource(core.deps.blobs, turn.foreign)]),
    ]);
    const hashes = { opening: openingHash, run: runHash, state: stateHash };
    return { turn, steps, hashes, lostRequest: await lostRequestOf(core, turn, steps) };
  } catch (error) {
    return { turn, unreadable: failureOf(error).message };
  }
}

/** Throws if the boot prompt is missing or is another one. No digest covers its text, but the row has its hash. */
async function checkPrompt({ deps }: EngineCore, { manifest }: StoredTurn): Promise<void> {
  if ((await readBootPrompt(deps.blobs, manifest.promptHash)) !== null) return;
  const key = blobKeys.prompt(manifest.promptHash);
  throw new AptoveError("blob_missing", `there is no blob ${key}, the boot prompt of the turn`, { facts: { key } });
}

async function blobHash({ deps }: EngineCore, key: string): Promise<string> {
  const bytes = await deps.blobs.get(key);
  if (bytes === null) throw new AptoveError("blob_missing", `there is no blob ${key}`, { facts: { key } });
  return sha256(bytes);
}

/**
 * Returns a fault if a later request cannot be rebuilt to the exact bytes that its step sent (D3). The first request is
 * part of the opening, which the digest covers.
 */
async function lostRequestOf(core: EngineCore, turn: StoredTurn, steps: readonly Step[]): Promise<string | null> {
  for (const { index, request } of steps.filter((step) => step.request.blob !== turn.blobs.opening)) {
    try {
      const body = await turnReader(core, turn).request(index);
      if (sha256(body) !== request.sha256) return `${request.blob} does not contain the request that was sent`;
    } catch (error) {
      // This includes unexpected errors, because a changed blob can have any form.
      return `${request.blob}: ${failureOf(error).message}`;
    }
  }
  return null;
}

/**
 * Returns why a turn does not match, or null if it matches or was never sealed. `parent` is the digest of its parent,
 * or undefined if the parent is not stored.
 */
function faultOf(stored: ReadTurn, parent: string | null | undefined): string | null {
  const { turn } = stored;
  if (parent === undefined) return `its parent ${turn.parentId} is not stored`;
  if ("unreadable" in stored) return stored.unreadable;
  if (turn.digest === null) {
    // A sealed turn is followed by sealed turns only, except for turns that failed before they could be sealed. Those
    // have no state.
    return parent !== null && turn.blobs.state !== null
      ? "it has no digest, but its parent has one"
      : stored.lostRequest;
  }
  if (turnDigest(turn, { parent, steps: stored.steps, hashes: stored.hashes }) === turn.digest)
    return stored.lostRequest;
  const keys = [turn.blobs.opening, turn.blobs.run, turn.blobs.state].filter((key) => key !== null);
  return `its digest does not match: its row, its steps, or one of ${keys.join(", ")} was changed`;
}
