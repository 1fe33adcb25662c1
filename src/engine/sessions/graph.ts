/** The graph of a session, in pages: its turns, those that it was forked from, and the forks of both (T6). */
import type { Caller } from "../../domain/caller.ts";
import { AptoveError } from "../../domain/errors.ts";
import { limits } from "../../domain/limits.ts";
import type { Session } from "../../domain/session.ts";
import type { Turn } from "../../domain/turn.ts";
import { scopeOf } from "../access/access.ts";
import { visibleSession } from "../access/visible.ts";
import type { SessionGraph } from "../engine.ts";
import type { EngineCore } from "../turn/live/engine-core.ts";

interface GraphPage {
  id: string;
  after?: string;
  limit?: number;
}

export async function graph(core: EngineCore, caller: Caller, { id, after, limit }: GraphPage): Promise<SessionGraph> {
  const session = await visibleSession(core.deps, caller, id);
  const count = Math.min(Math.max(1, limit ?? limits.graphTurnsMax), limits.graphTurnsMax);
  // One turn more than the page shows whether there is another page.
  const found = await turnsAfter(core, session, { after: after ?? null, count: count + 1 });
  const turns = found.slice(0, count);
  const below = { turnIds: turns.map((turn) => turn.id) };
  const query = { ...scopeOf(caller), below, perTurnMax: limits.graphForksPerTurnMax };
  const forks = await core.deps.records.sessions.listForks(query);
  return { session, turns, forks, nextAfter: found.length > count ? (turns.at(-1)?.id ?? null) : null };
}

interface TurnRange {
  /** Null: from the newest turn. */
  after: string | null;
  count: number;
}

async function turnsAfter(core: EngineCore, session: Session, { after, count }: TurnRange): Promise<Turn[]> {
  const last = after === null ? null : await core.deps.records.turns.get(after);
  if (after !== null && last === null) throw new AptoveError("not_found", `there is no turn ${JSON.stringify(after)}`);
  if (last !== null && last.sessionId !== session.id) return await lineage(core, session, { last, count });
  const own = await ownTurns(core, session.id, { before: last?.sequence, count });
  if (own.length === count) return own;
  return [...own, ...(await above(core, session.originTurnId, count - own.length))];
}

/** Returns turns of the session, the newest first. */
async function ownTurns(
  core: EngineCore,
  sessionId: string,
  { before: first, count }: { before: number | undefined; count: number },
): Promise<Turn[]> {
  const turns: Turn[] = [];
  for (let before = first; turns.length < count;) {
    const limit = Math.min(count - turns.length, limits.pageSizeMax);
    const found = await core.deps.records.turns.list(sessionId, { ...(before !== undefined && { before }), limit });
    turns.push(...found);
    if (found.length < limit) break;
    before = found.at(-1)?.sequence;
  }
  return turns;
}

/** Goes on above a turn that the session was forked from. Any other turn is not found: it may belong to others. */
async function lineage(
  core: EngineCore,
  { id, originTurnId }: Session,
  { last, count }: { last: Turn; count: number },
): Promise<Turn[]> {
  for (let at = originTurnId; at !== null;) {
    if (at === last.id) return await above(core, last.parentId, count);
    at = (await core.deps.records.turns.get(at))?.parentId ?? null;
  }
  throw new AptoveError("not_found", `turn ${last.id} is not in the graph of session ${id}`);
}

/**
 * Returns a turn and those that it continues, newest first. A caller who may see the fork may see them, because they are
 * its history.
 */
async function above(core: EngineCore, turnId: string | null, count: number): Promise<Turn[]> {
  const turns: Turn[] = [];
  for (let at = turnId; at !== null && turns.length < count;) {
    const turn = await core.deps.records.turns.get(at);
    if (turn === null) return turns;
    turns.push(turn);
    at = turn.parentId;
  }
  return turns;
}
