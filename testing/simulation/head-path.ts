/** Checks that only turns and head moves of users moved the head of a session (S5, T6, T7). */
import assert from "node:assert/strict";
import type { Session } from "../../src/domain/session.ts";
import { mayBeParent, type Turn } from "../../src/domain/turn.ts";
import type { HeadMove } from "../../src/records/record-store.ts";
import type { World } from "./world.ts";

export async function checkHeads({ model, stores }: World, session: Session): Promise<void> {
  const known = model.knowSession(session.id);
  if (known.isPurged !== false) return;
  const moves = await stores.records.sessions.listHeadMoves(session.id);
  for (const move of known.moves)
    assert.ok(
      moves.some(({ from, to }) => from === move.from && to === move.to),
      "a head move is lost (T6)",
    );
  const turns = (await stores.records.turns.list(session.id, { limit: 10_000 })).toReversed();
  assert.ok(
    isReached(session, { head: null, turns, moves }),
    `the head of ${session.id} is not where its turns and moves took it (S5)`,
  );
}

interface Path {
  head: string | null;
  /** The remaining turns and the remaining moves, each in order. How the two interleave is unknown. */
  turns: readonly Turn[];
  moves: readonly HeadMove[];
}

/** Returns true if some order of the turns and the moves leads to the session's head. */
function isReached(session: Session, { head, turns, moves }: Path): boolean {
  const [turn, ...laterTurns] = turns;
  const [move, ...laterMoves] = moves;
  if (turn === undefined && move === undefined) return head === session.headTurnId;
  if (turn !== undefined && mayBegin(session, turn, head)) {
    const next = mayBeParent(turn) ? turn.id : head;
    if (isReached(session, { head: next, turns: laterTurns, moves })) return true;
  }
  if (move === undefined || move.from !== head) return false;
  return isReached(session, { head: move.to, turns, moves: laterMoves });
}

/** A turn begins at the head, and a fork where it was forked; a rerun beside or below it. */
function mayBegin({ originTurnId }: Session, { parentId, rerunOf }: Turn, head: string | null): boolean {
  return (head ?? originTurnId) === parentId || (rerunOf !== null && head === rerunOf);
}
