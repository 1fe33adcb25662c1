/** Sessions as trees, each fork below the session that it was forked from, in answers of bounded size (U5, T6). */
import type { Caller } from "../../domain/caller.ts";
import { limits } from "../../domain/limits.ts";
import type { Session } from "../../domain/session.ts";
import type { TurnForks } from "../../records/record-store.ts";
import { scopeOf } from "../access/access.ts";
import { maySee, visibleSession } from "../access/visible.ts";
import type { Forest, ForestRequest, ForestSession } from "../engine.ts";
import type { EngineCore } from "../turn/live/engine-core.ts";
import { searchSessions } from "./search.ts";

export async function forest(core: EngineCore, caller: Caller, request: ForestRequest): Promise<Forest> {
  const { text, below, after } = request;
  const limit = Math.min(Math.max(1, request.limit ?? limits.pageSizeDefault), limits.forestTreesMax);
  if (text !== undefined) {
    const hits = await searchSessions(core, caller, { text, limit });
    return {
      sessions: await withOrigins(
        core,
        caller,
        hits.map(({ session }) => session),
      ),
      next: null,
    };
  }
  if (below !== undefined) {
    return { sessions: await withForks(core, caller, [await visibleSession(core.deps, caller, below)]), next: null };
  }
  const query = { ...scopeOf(caller), isRoot: true as const, limit, ...(after !== undefined && { after }) };
  const { sessions, next } = await core.deps.records.sessions.list(query);
  return { sessions: await withForks(core, caller, sessions), next };
}

/** Adds the forks level by level, until the answer is full. */
async function withForks(core: EngineCore, caller: Caller, roots: readonly Session[]): Promise<ForestSession[]> {
  const found = new Map(roots.map((session) => [session.id, { session, origin: null, forks: null } as ForestSession]));
  let level = [...found.values()];
  for (let depth = 0; level.length > 0 && depth < limits.forestLevelsMax; depth++) {
    const below = { sessionIds: level.map(({ session }) => session.id) };
    const query = { ...scopeOf(caller), below, perTurnMax: limits.forestForksPerTurnMax };
    const forks = Map.groupBy(await core.deps.records.sessions.listForks(query), ({ sessionId }) => sessionId);
    for (const one of level) one.forks = (forks.get(one.session.id) ?? []).map(counted);
    const room = limits.forestSessionsMax - found.size;
    const next = [...forks.values()].flat().flatMap(forestSessions);
    level = next.filter(({ session }) => !found.has(session.id)).slice(0, room);
    for (const one of level) found.set(one.session.id, one);
  }
  return [...found.values()];
}

function counted({ newest: _newest, ...forks }: TurnForks): Omit<TurnForks, "newest"> {
  return forks;
}

function forestSessions({ newest, count: _count, ...origin }: TurnForks): ForestSession[] {
  return newest.map((session) => ({ session, origin, forks: null }));
}

/** Adds the sessions that these were forked from. */
async function withOrigins(core: EngineCore, caller: Caller, hits: readonly Session[]): Promise<ForestSession[]> {
  const found = new Map<string, ForestSession>();
  for (const hit of hits) {
    const line: ForestSession[] = [];
    let session: Session | null = hit;
    while (session !== null && !found.has(session.id) && line.length < limits.forestLevelsMax) {
      const from = await originOf(core, caller, session);
      line.unshift({ session, origin: from?.origin ?? null, forks: null });
      session = from?.session ?? null;
    }
    for (const one of line) found.set(one.session.id, one);
  }
  return [...found.values()];
}

interface Origin {
  session: Session;
  origin: NonNullable<ForestSession["origin"]>;
}

async function originOf({ deps }: EngineCore, caller: Caller, { id, originTurnId }: Session): Promise<Origin | null> {
  const turn = originTurnId === null ? null : await deps.records.turns.get(originTurnId);
  if (turn === null || turn.sessionId === id) return null;
  const session = await deps.records.sessions.get(turn.sessionId);
  if (session?.deletedAt !== null || !(await maySee(deps, caller, session))) return null;
  const { sessionId, sequence, depth } = turn;
  return { session, origin: { turnId: turn.id, sessionId, sequence, depth } };
}
