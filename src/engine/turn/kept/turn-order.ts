/**
 * Reads many turns in pages, each parent before its children, so that a session of any length is never in memory as a
 * whole.
 */
import type { Session } from "../../../domain/session.ts";
import type { ArchivedTurn, FinishedTurn, Turn } from "../../../domain/turn.ts";
import type { RecordStore } from "../../../records/record-store.ts";

type TurnRows = Pick<RecordStore, "turns">;

const pageSize = 100;

/** Yields the turn and its ancestors, newest first, up to the root or to a turn whose parent is not stored. */
export async function* ancestors(records: TurnRows, turnId: string): AsyncGenerator<Turn> {
  let page = new Map<string, Turn>();
  for (let at: string | null = turnId; at !== null;) {
    const turn: Turn | null = page.get(at) ?? (await records.turns.get(at));
    if (turn === null) return;
    yield turn;
    at = turn.parentId;
    if (at !== null && !page.has(at)) page = await pageOf(records, turn.sessionId, turn.sequence);
  }
}

/**
 * Yields the turn and its ancestors, oldest first, except the turns for which `isKnown` returns true and their
 * ancestors.
 */
export async function* lineage(
  records: TurnRows,
  turnId: string,
  isKnown: (id: string) => boolean = () => false,
): AsyncGenerator<Turn> {
  const places: { id: string; sessionId: string; sequence: number }[] = [];
  for await (const { id, sessionId, sequence } of ancestors(records, turnId)) {
    if (isKnown(id)) break;
    places.unshift({ id, sessionId, sequence });
  }
  let page = new Map<string, Turn>();
  for (const { id, sessionId, sequence } of places) {
    if (!page.has(id)) page = await pageOf(records, sessionId, sequence + pageSize);
    const turn = page.get(id);
    if (turn !== undefined) yield turn;
  }
}

/** Yields all turns of a session, oldest first, each after its ancestors. A fork begins with the lineage above it. */
export async function* turnsWithLineage(records: TurnRows, session: Session): AsyncGenerator<Turn> {
  const seen = new Set<string>();
  const isSeen = (id: string): boolean => seen.has(id);
  async function* above(turnId: string | null): AsyncGenerator<Turn> {
    if (turnId === null || seen.has(turnId)) return;
    for await (const turn of lineage(records, turnId, isSeen)) {
      seen.add(turn.id);
      yield turn;
    }
  }
  yield* above(session.originTurnId);
  for (let from = 1; from <= session.lastSequence; from += pageSize) {
    const page = await pageOf(records, session.id, from + pageSize);
    for (const turn of [...page.values()].filter((one) => one.sequence >= from).toReversed()) {
      yield* above(turn.parentId);
      seen.add(turn.id);
      yield turn;
    }
  }
}

/** A turn that never changes again, except that it may be archived. */
export type StoredTurn = FinishedTurn | ArchivedTurn;

/** How many turns are read at the same time. */
const batchSize = 16;

/** Yields the turns that are not running, in batches, so that their blobs can be read together. */
export async function* finishedTurns(turns: AsyncIterable<Turn>): AsyncGenerator<StoredTurn[]> {
  let batch: StoredTurn[] = [];
  for await (const turn of turns) {
    if (turn.status === "pending") continue;
    batch.push(turn);
    if (batch.length < batchSize) continue;
    yield batch;
    batch = [];
  }
  yield batch;
}

/** Returns a page of the turns of a session before a sequence number, newest first. */
async function pageOf(records: TurnRows, sessionId: string, before: number): Promise<Map<string, Turn>> {
  const turns = await records.turns.list(sessionId, { before, limit: pageSize });
  return new Map(turns.map((turn) => [turn.id, turn]));
}
