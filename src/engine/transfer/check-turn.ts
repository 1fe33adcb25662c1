/**
 * A turn of an export beside its blobs and the turns above it. Whoever writes a file by hand could otherwise make a
 * turn that reads, through a blob's name or a base, what belongs to somebody else.
 */
import { baseDepth } from "../../domain/lineage.ts";
import { partBlobs } from "../../domain/turn.ts";
import type { BlobHashes } from "../turn/kept/turn-digest.ts";
import type { StoredTurn } from "../turn/kept/turn-order.ts";
import type { CheckedBlob } from "./check-blob.ts";
import type { TurnLine } from "./format.ts";

/** A turn that another one rests on, with all that is above it. */
export interface Ancestor {
  id: string;
  depth: number;
  parent: Ancestor | null;
  digest: string | null;
  outcome: Outcome;
  /** Null: the turn is an agent's (A1). */
  subagentId: string | null;
}

export type Outcome = Exclude<StoredTurn["status"], "archived">;

/** What came of a turn, also of one that was put away since. */
export function outcomeOf(turn: StoredTurn): Outcome {
  return turn.status === "archived" ? turn.was.status : turn.status;
}

export interface CheckedTurnBlobs {
  all: CheckedBlob[];
  opening: CheckedBlob;
  state: CheckedBlob | null;
  hashes: BlobHashes;
  /** The blobs of input parts that the row and the other blobs name, of this turn or of one above it. */
  parts: string[];
}

/** The blobs that a turn's row and steps name; they must be its own, be there, and be all that are there. */
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
    if (turnId !== turn.id || index <= last) return { fault: "its steps are not its own, each once and in order" };
    last = index;
    if (request.blob !== opening) wanted.set(request.blob, "request");
  }
  for (const [key, kind] of wanted) {
    const blob = given.get(key);
    if (blob === undefined) return { fault: `its blob ${key} is not before it` };
    if (blob.kind !== kind || blob.turnId !== turn.id) return { fault: `${key} is not its ${kind}` };
  }
  if (given.size !== wanted.size) return { fault: "there are blobs before it that it does not name" };
  const found = (key: string | null): CheckedBlob | null => (key === null ? null : (given.get(key) ?? null));
  const openingBlob = given.get(opening);
  if (openingBlob === undefined) return { fault: `its blob ${opening} is not before it` };
  const hashes = { opening: openingBlob.hash, run: found(run)?.hash ?? null, state: found(state)?.hash ?? null };
  const all = [...given.values()];
  const parts = [...partBlobs(turn), ...all.flatMap((blob) => blob.parts)];
  return { all, opening: openingBlob, state: found(state), hashes, parts };
}

interface Fault {
  fault: string;
}

/** Whether a turn's blobs build only on the turns above it, each on the one that it must (K2, K3); null: they do. */
export function checkBases(turn: Pick<Ancestor, "id" | "depth" | "parent">, blobs: CheckedTurnBlobs): string | null {
  if (blobs.opening.base !== null && above(turn, ({ id }) => id === blobs.opening.base) === null) {
    return `${blobs.opening.key} builds on a turn that is not above it`;
  }
  const isOwnOrAbove = (key: string): boolean => {
    const owner = /^turns\/([0-9a-f-]{36})\/part-[0-9a-f-]{36}\.json$/.exec(key)?.[1];
    if (owner === turn.id) return blobs.all.some((blob) => blob.key === key);
    return owner !== undefined && above(turn, ({ id }) => id === owner) !== null;
  };
  const stray = blobs.parts.find((key) => !isOwnOrAbove(key));
  if (stray !== undefined)
    return `it names the part ${JSON.stringify(stray)}, which is neither its own nor of a turn above it`;
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

/** The nearest turn above that is it. */
function above(turn: Pick<Ancestor, "parent">, isIt: (ancestor: Ancestor) => boolean): Ancestor | null {
  for (let at = turn.parent; at !== null; at = at.parent) if (isIt(at)) return at;
  return null;
}
