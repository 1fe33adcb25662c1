/** What history costs (B7): the room that turns take in the stores, by kind, and how much of it only they have. */
import type { Caller } from "../../domain/caller.ts";
import { limits } from "../../domain/limits.ts";
import type { Session } from "../../domain/session.ts";
import { scopeOf } from "../access/access.ts";
import { isTheirs, visibleSession } from "../access/visible.ts";
import type { HistorySize, SessionSize, SizeOverview, TurnSize } from "../api/history-size.ts";
import type { EngineDependencies } from "../dependencies.ts";
import { kinds, noKinds, turnSizes } from "../turn/kept/turn-sizes.ts";

/** How many sessions one overview reads. */
const sessionsMax = 20_000;
/** How many turns are measured at once. */
const turnsAtOnce = 16;

/** Measures all turns of a session, and returns the newest of those before `before` one by one. Throws `not_found`. */
export async function sessionSize(
  deps: EngineDependencies,
  caller: Caller,
  { sessionId, before = Infinity, limit }: { sessionId: string; before?: number | undefined; limit: number },
): Promise<SessionSize> {
  const session = await visibleSession(deps, caller, sessionId);
  // Whether others forked a session is only for those who may purge it.
  const isOwn = isTheirs(caller, session);
  const needed = new Set(isOwn ? await deps.records.purges.sharedTurnIds(session.id) : []);
  const [total, shared] = [nothing(), nothing()];
  const turns: TurnSize[] = [];
  for await (const size of sizesOf(deps, session)) {
    add(total, size);
    if (needed.has(size.turnId)) add(shared, size);
    if (size.sequence < before && turns.length < limit) turns.push(size);
  }
  const origin = session.originTurnId === null ? null : await deps.records.turns.get(session.originTurnId);
  return {
    sessionId,
    total,
    inheritedTurns: origin?.depth ?? 0,
    purge: isOwn ? { bytes: total.bytes - shared.bytes, keptTurns: shared.turns, keptBytes: shared.bytes } : null,
    turns,
  };
}

/** Measures the sessions that the caller may see, and returns the largest. */
export async function sizeOverview(
  deps: EngineDependencies,
  caller: Caller,
  { limit }: { limit: number },
): Promise<SizeOverview> {
  const total = nothing();
  const sessions: SizeOverview["sessions"] = [];
  let isPartial = false;
  for await (const session of visibleSessions(deps, caller)) {
    isPartial = sessions.length >= sessionsMax;
    if (isPartial) break;
    const size = nothing();
    for await (const turn of sizesOf(deps, session)) add(size, turn);
    for (const kind of kinds) total.byKind[kind] += size.byKind[kind];
    for (const part of ["turns", "bytes", "requestBytes"] as const) total[part] += size[part];
    sessions.push({ id: session.id, name: session.name, turns: size.turns, bytes: size.bytes });
  }
  const largest = sessions.toSorted((a, b) => b.bytes - a.bytes).slice(0, limit);
  return { sessionCount: sessions.length, total, sessions: largest, isPartial };
}

async function* sizesOf(deps: EngineDependencies, session: Session): AsyncGenerator<TurnSize> {
  for (let before: number | undefined; ;) {
    const page = { limit: turnsAtOnce, ...(before !== undefined && { before }) };
    const turns = await deps.records.turns.list(session.id, page);
    yield* await turnSizes(deps, turns);
    before = turns.at(-1)?.sequence;
    if (turns.length < turnsAtOnce || before === undefined) return;
  }
}

async function* visibleSessions({ records }: EngineDependencies, caller: Caller): AsyncGenerator<Session> {
  const query = { ...scopeOf(caller), limit: limits.pageSizeMax };
  let page = await records.sessions.list(query);
  for (;;) {
    yield* page.sessions;
    if (page.next === null) return;
    page = await records.sessions.list({ ...query, after: page.next });
  }
}

function nothing(): HistorySize {
  return { turns: 0, bytes: 0, requestBytes: 0, byKind: noKinds() };
}

function add(sum: HistorySize, { bytes, requestBytes, byKind }: TurnSize): void {
  sum.turns += 1;
  sum.bytes += bytes;
  sum.requestBytes += requestBytes;
  for (const kind of kinds) sum.byKind[kind] += byKind[kind];
}
