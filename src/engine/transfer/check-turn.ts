/**
 * Checks a turn of an export against its blobs and its ancestors. Otherwise a file made by hand could contain a turn
 * that reads the data of another user, through the name of a blob or a base.
 */
import { baseDepth } from "../../domain/lineage.ts";
import { partBlobs } from "../../domain/turn.ts";
import type { BlobHashes } from "../turn/kept/turn-digest.ts";
import type { StoredTurn } from "../turn/kept/turn-order.ts";
import type { CheckedBlob } from "./check-blob.ts";
import type { TurnLine } from "./format.ts";

/** A turn that another one depends on, with its ancestors. */
export interface AncestorTurn {
  id: string;
  depth: number;
  parent: AncestorTurn | null;
  digest: string | null;
  outcome: OutcomeStatus;
  /** True if its history can be continued: a failed turn has one only if it had done something (T12). */
  hasHistory: boolean;
  /** The subagent whose turn this is. Null for a turn of the session's agent (A1). */
  subagentId: string | null;
}

/** A turn that another one names, with the session that it belongs to. */
export interface NamedTurn extends AncestorTurn {
  sessionId: string;
}

export type OutcomeStatus = Exclude<StoredTurn["status"], "archived">;

/** Returns the outcome of a turn, also if it was archived since. */
export function outcomeOf(turn: StoredTurn): OutcomeStatus {
  return turn.status === "archived" ? turn.was.status : turn.status;
}

export interface CheckedTurnBlobs {
  all: CheckedBlob[];
  opening: CheckedBlob;
  state: CheckedBlob | null;
  hashes: BlobHashes;
  /** The blobs of input parts that the row and the other blobs refer to, of this turn or of an ancestor. */
  parts: string[];
  /** The turn that stored the tools of the client. Null: there are none (E4). */
  clientTools: string | null;
}

/**
 * Returns the blobs that the row and the steps of a turn name. They must belong to the turn, they must all be there,
 * and there must be no others.
 */
export function namedBlobs(
  { turn, steps }: Pick<TurnLine, "turn" | "steps">,
  given: ReadonlyMap<string, CheckedBlob>,
): CheckedTurnBlobs | Fault {
  const { opening, run, state } = turn.blobs;
  if (outcomeOf(turn) !== "failed" && (run === null || state === null)) return { fault: "it has no run or no state" };
  const wanted = new Map<string, CheckedBlob["kind"]>([[opening, "opening"]]);
  if (run !== null) wanted.set(run, "run");
  if (state !== null) wanted.set(state, "state");
  const own = partBlobs(turn).filter((key) => key.startsWith(`turns/${turn.id}/`));
  for (const key of own) wanted.set(key, "part");
  let last = 0;
  for (const { turnId, index, request } of steps) {
    if (turnId !== turn.id || index <= last) return { fault: "its steps must belong to it, once each and in order" };
    last = index;
    if (request.blob !== opening) wanted.set(request.blob, "request");
  }
  for (const [key, kind] of wanted) {
    const blob = given.get(key);
    if (blob === undefined) return { fault: `its blob ${key} does not precede it` };
    if (blob.kind !== kind || blob.turnId !== turn.id) return { fault: `${key} is not its ${kind}` };
  }
  if (given.size !== wanted.size) return { fault: "blobs precede it that it does not name" };
  const found = (key: string | null): CheckedBlob | null => (key === null ? null : (given.get(key) ?? null));
  const openingBlob = given.get(opening);
  if (openingBlob === undefined) return { fault: `its blob ${opening} does not precede it` };
  const hashes = { opening: openingBlob.hash, run: found(run)?.hash ?? null, state: found(state)?.hash ?? null };
  const all = [...given.values()];
  const parts = [...partBlobs(turn), ...all.flatMap((blob) => blob.parts)];
  const { clientTools = null } = turn.manifest;
  return { all, opening: openingBlob, state: found(state), hashes, parts, clientTools };
}

/**
 * Returns why a turn cannot begin its session, or null if it can or does not begin it. A session begins below its origin
 * only: readers go up from the origin to find what is above the session, so another one would show turns twice (T6).
 */
export function beginningFault(
  { kind, sessionId, parentId }: Pick<StoredTurn, "kind" | "sessionId" | "parentId">,
  { parent, originTurnId }: { parent: NamedTurn | null; originTurnId: string | null },
): string | null {
  if (kind !== "agent" || parent?.sessionId === sessionId || parentId === originTurnId) return null;
  return `it begins the session ${sessionId} at another turn than the session's origin`;
}

interface Fault {
  fault: string;
}

/** Returns a fault unless each blob of a turn has the base that it must have, among the turn's ancestors (K2, K3). */
export function checkBases(
  turn: Pick<AncestorTurn, "id" | "depth" | "parent">,
  blobs: CheckedTurnBlobs,
): string | null {
  if (blobs.opening.base !== null && above(turn, ({ id }) => id === blobs.opening.base) === null) {
    return `${blobs.opening.key} builds on a turn that is not an ancestor`;
  }
  const { clientTools } = blobs;
  if (clientTools !== null && clientTools !== turn.id && above(turn, ({ id }) => id === clientTools) === null) {
    return `its tools are those of a turn that is not an ancestor`;
  }
  const isOwnOrAbove = (key: string): boolean => {
    const owner = /^turns\/([0-9a-f-]{36})\/part-[0-9a-f-]{36}\.json$/.exec(key)?.[1];
    if (owner === turn.id) return blobs.all.some((blob) => blob.key === key);
    return owner !== undefined && above(turn, ({ id }) => id === owner) !== null;
  };
  const stray = blobs.parts.find((key) => !isOwnOrAbove(key));
  if (stray !== undefined)
    return `it names the part ${JSON.stringify(stray)}, which belongs neither to it nor to an ancestor`;
  if (blobs.state === null) return null;
  const since = baseDepth(turn.depth);
  const base = above(turn, ({ depth }) => depth <= since);
  if (blobs.state.base !== (base?.id ?? null)) return `${blobs.state.key} does not build on the turn of depth ${since}`;
  const lineage = [{ id: turn.id, depth: turn.depth }];
  for (let at = turn.parent; at !== null && at.depth > since; at = at.parent) lineage.unshift(at);
  const isWhole =
    blobs.state.entries.length === lineage.length &&
    blobs.state.entries.every(({ turnId, depth }, at) => lineage[at]?.id === turnId && lineage[at]?.depth === depth);
  return isWhole ? null : `${blobs.state.key} is not the history of its turn`;
}

/** Returns the nearest ancestor that passes the test. */
function above(turn: Pick<AncestorTurn, "parent">, isIt: (ancestor: AncestorTurn) => boolean): AncestorTurn | null {
  for (let at = turn.parent; at !== null; at = at.parent) if (isIt(at)) return at;
  return null;
}
