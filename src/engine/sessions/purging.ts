/** Deletes history: the turns of a session with their blobs, and blobs that no turn needs (S6, K4). */
import type { Caller } from "../../domain/caller.ts";
import { AptoveError } from "../../domain/errors.ts";
import { isId, timeOfId, type Millis } from "../../domain/ids.ts";
import { limits } from "../../domain/limits.ts";
import type { Session } from "../../domain/session.ts";
import { summaryBlobs } from "../../domain/summary.ts";
import type { Turn } from "../../domain/turn.ts";
import { operatorOnly } from "../access/access.ts";
import { healthProbes, importMarks } from "../turn/kept/turn-blobs.ts";
import { turnSizes } from "../turn/kept/turn-sizes.ts";
import type { EngineCore } from "../turn/live/engine-core.ts";
import type { GarbageOrder, GarbageReport, PurgeReport } from "../engine.ts";

export type RemovedSession = Session & { deletedAt: Millis };

/**
 * Deletes the rows before the blobs, so that no row names a blob that is gone. A crash in between leaves garbage, which
 * is collected later (S6).
 */
export async function purge(core: EngineCore, session: RemovedSession): Promise<PurgeReport> {
  const { records } = core.deps;
  const kept = new Set(await records.purges.sharedTurnIds(session.id));
  const turns = await allTurns(core, session.id);
  const purged = turns.filter((turn) => !kept.has(turn.id));
  const ofTurns = await Promise.all(purged.map((turn) => keysOfTurn(core, turn.id)));
  // The summaries of the session may rest on turns that are kept.
  const summaries = await records.summaries.list(session.id, { limit: Number.MAX_SAFE_INTEGER });
  const keys = [...new Set([...ofTurns.flat(), ...summaries.flatMap(summaryBlobs)])];
  // A store that has blobs and rows in one place deletes both at once.
  let bytes = 0;
  for (const turn of purged) for (const size of await turnSizes(core.deps, [turn])) bytes += size.bytes;
  if (!(await records.purges.purgeSession(session.id, [...kept], session.deletedAt))) {
    // To list the blobs of many turns takes time, in which a person may restore the session.
    const now = await records.sessions.get(session.id);
    if (now?.deletedAt !== session.deletedAt) throw notRemoved(session.id);
    throw new AptoveError("session_busy", "a turn of the session is running; interrupt it first");
  }
  const blobsDeleted = await deleteUnnamed(core, keys);
  return { turnsPurged: purged.length, turnsKept: kept.size, blobsDeleted, bytesFreed: bytes };
}

/**
 * Deletes blobs that no row names, those of a turn at once. This may take minutes, in which an import brings turns whose blobs are still
 * there. What such an import may need stays, and is collected later if it did not need it. Returns how many were deleted.
 */
async function deleteUnnamed(core: EngineCore, keys: readonly string[]): Promise<number> {
  const { blobs, records } = core.deps;
  let count = 0;
  for (const [turnId, ofTurn] of Map.groupBy(keys, turnOf)) {
    if ((await importsNow(core)).running) return count;
    const named = new Set(await records.purges.blobKeysOf(turnId));
    const unnamed = ofTurn.filter((key) => !named.has(key));
    await Promise.all(unnamed.map((key) => blobs.delete(key)));
    count += unnamed.length;
  }
  return count;
}

function turnOf(key: string): string {
  return key.split("/")[1] ?? "";
}

export function notRemoved(sessionId: string): AptoveError {
  return new AptoveError("not_found", `there is no removed session ${JSON.stringify(sessionId)}`);
}

/** Returns all turns of a session, the newest first. */
async function allTurns(core: EngineCore, sessionId: string): Promise<Turn[]> {
  const turns: Turn[] = [];
  for (let before: number | undefined; ;) {
    const page = { ...(before !== undefined && { before }), limit: limits.pageSizeMax };
    const found = await core.deps.records.turns.list(sessionId, page);
    turns.push(...found);
    before = found.at(-1)?.sequence;
    if (found.length < limits.pageSizeMax || before === undefined) return turns;
  }
}

/** Returns all blobs in the turn's folder, including those that a crash left there. */
async function keysOfTurn(core: EngineCore, turnId: string): Promise<string[]> {
  return await core.deps.blobs.list(`turns/${turnId}/`);
}

async function sizeOf(core: EngineCore, keys: readonly string[]): Promise<number> {
  let bytes = 0;
  for (const key of keys) bytes += (await core.deps.blobs.size(key)) ?? 0;
  return bytes;
}

/**
 * Deletes or lists blobs that no row names (K4). The blobs of a turn that is just being opened are too young to count
 * as garbage.
 */
export async function deleteGarbage(
  core: EngineCore,
  caller: Caller,
  { dryRun, isMostExpected = false }: GarbageOrder,
): Promise<GarbageReport> {
  operatorOnly(caller, "collect garbage");
  // Another process may have put new blobs in the place of those that belong to the open records.
  await core.deps.records.storage.checkPlace?.();
  const all = await core.deps.blobs.list("turns/");
  const keys = await unreachableKeys(core, all);
  const isMost = keys.length > all.length * limits.garbageShareMax;
  const report = { keys, bytes: await sizeOf(core, keys), isMost };
  if (dryRun) return report;
  if (isMost && !isMostExpected) throw tooMuch(keys.length, all.length);
  await deleteUnnamed(core, keys);
  return report;
}

/** Crashes leave little garbage. If most blobs have no row, then probably the rows are lost, and the blobs are the rest of the history. */
function tooMuch(found: number, all: number): AptoveError {
  return new AptoveError(
    "garbage_doubtful",
    `${found} of ${all} blobs belong to no turn; if records were lost, these blobs are needed to restore them; nothing was deleted`,
    { facts: { found, all } },
  );
}

function isOldId({ deps }: EngineCore, id: string): boolean {
  return isId(id) && timeOfId(id) < deps.now() - limits.garbageAgeMs;
}

/** Returns whether an import runs, and the marks that imports of killed processes left. */
async function importsNow(core: EngineCore): Promise<{ running: boolean; left: string[] }> {
  const marks = await core.deps.blobs.list(importMarks);
  const left = marks.filter((key) => isOldId(core, key.slice(importMarks.length)));
  return { running: left.length < marks.length, left };
}

async function unreachableKeys(core: EngineCore, all: readonly string[]): Promise<string[]> {
  const { blobs, records } = core.deps;
  const byTurn = new Map<string, string[]>();
  for (const key of all) {
    const turnId = turnOf(key);
    byTurn.set(turnId, [...(byTurn.get(turnId) ?? []), key]);
  }
  const isOld = (id: string): boolean => isOldId(core, id);
  // The first turn of an old session has an old id too, although it may be opening now.
  const isYoungAttempt = (key: string): boolean => {
    const attempt = /\/(?:opening|part|summary-\d+-(?:request|response))-(.+)\.json$/.exec(key)?.[1];
    return attempt !== undefined && isId(attempt) && !isOld(attempt);
  };
  // The blobs of an import have the ids of old turns. During an import it is not known which blobs are garbage.
  const { running, left: unreachable } = await importsNow(core);
  if (running) return [];
  const probes = await blobs.list(healthProbes);
  unreachable.push(...probes.filter((key) => isOld(key.slice(healthProbes.length))));
  for (const turnId of [...byTurn.keys()].filter(isOld)) {
    // A running turn names its blobs when it ends. Its status is read first, because it may end between the two reads.
    if ((await records.turns.get(turnId))?.status === "pending") continue;
    const named = new Set(await records.purges.blobKeysOf(turnId));
    const unnamed = (byTurn.get(turnId) ?? []).filter((key) => !named.has(key) && !isYoungAttempt(key));
    unreachable.push(...unnamed);
  }
  return unreachable.toSorted();
}
