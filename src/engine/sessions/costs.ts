/** What turns have cost (U9): by day, session, model and person, over the sessions that the caller may see. */
import type { Caller } from "../../domain/caller.ts";
import type { Session } from "../../domain/session.ts";
import type { Turn } from "../../domain/turn.ts";
import { addUsage, type Usage } from "../../domain/usage.ts";
import { isoTime, type Millis } from "../../domain/ids.ts";
import { limits } from "../../domain/limits.ts";
import { scopeOf } from "../access/access.ts";
import { maySee } from "../access/visible.ts";
import type { CostCell, CostReport } from "../engine.ts";
import type { EngineDependencies } from "../dependencies.ts";

/** How many sessions one report reads. */
const sessionsMax = 20_000;

/** Adds up the turns and the summaries that were created in the period. `until` itself is not part of it. */
export async function costsOf(
  deps: EngineDependencies,
  caller: Caller,
  period: { from: Millis; until: Millis },
): Promise<CostReport> {
  const cells = new Map<string, CostCell>();
  const sessions: CostReport["sessions"] = [];
  let isPartial = false;
  for await (const session of activeSince(deps, caller, period.from)) {
    if (sessions.length >= sessionsMax) {
      isPartial = true;
      break;
    }
    const before = cells.size;
    for await (const turn of turnsIn(deps, session, period)) addTurn(cells, turn);
    if (cells.size > before) sessions.push({ id: session.id, name: session.name });
  }
  await addSummaries({ deps, caller, period }, { cells, sessions });
  return { cells: [...cells.values()], sessions, isPartial };
}

/** Adds the summaries that were begun in the period (M5). Their sessions may have had no turn in it. */
async function addSummaries(
  { deps, caller, period }: { deps: EngineDependencies; caller: Caller; period: { from: Millis; until: Millis } },
  { cells, sessions }: { cells: Map<string, CostCell>; sessions: CostReport["sessions"] },
): Promise<void> {
  const shown = new Map<string, Session | null>();
  for (const summary of await deps.records.summaries.begunIn({ orgId: caller.orgId, ...period })) {
    const { sessionId } = summary;
    const session = shown.get(sessionId) ?? (await deps.records.sessions.get(sessionId));
    const isShown = session?.deletedAt === null && (await maySee(deps, caller, session));
    shown.set(sessionId, session);
    if (!isShown) continue;
    if (!sessions.some(({ id }) => id === sessionId)) sessions.push({ id: sessionId, name: session.name });
    for (const { model, startedAt, end } of summary.calls) {
      if (end === null) continue;
      const place = { day: isoTime(startedAt).slice(0, 10), sessionId, userId: summary.userId };
      const key = [place.day, place.sessionId, place.userId, model].join(" ");
      const known = cells.get(key);
      const usage = known === undefined ? end.usage : addUsage(known.usage, end.usage);
      cells.set(key, { ...place, model, turns: known?.turns ?? 0, usage });
    }
  }
}

async function* activeSince({ records }: EngineDependencies, caller: Caller, from: Millis): AsyncGenerator<Session> {
  const query = { ...scopeOf(caller), activeFrom: from, limit: limits.pageSizeMax };
  let page = await records.sessions.list(query);
  for (;;) {
    yield* page.sessions;
    if (page.next === null) return;
    page = await records.sessions.list({ ...query, after: page.next });
  }
}

/** The turns of a session come newest first, so reading ends at the first one that is too old. */
async function* turnsIn(
  { records }: EngineDependencies,
  { id }: Session,
  { from, until }: { from: Millis; until: Millis },
): AsyncGenerator<Turn> {
  let before: number | undefined;
  for (;;) {
    const turns = await records.turns.list(id, { limit: limits.pageSizeMax, ...(before !== undefined && { before }) });
    for (const turn of turns) {
      if (turn.createdAt < from) return;
      if (turn.createdAt < until) yield turn;
    }
    before = turns.at(-1)?.sequence;
    if (turns.length < limits.pageSizeMax || before === undefined) return;
  }
}

function addTurn(cells: Map<string, CostCell>, turn: Turn): void {
  if (turn.status === "pending") return;
  const place = { day: isoTime(turn.createdAt).slice(0, 10), sessionId: turn.sessionId, userId: turn.createdBy };
  // A turn with several models counts once for each of them.
  for (const [model, usage] of Object.entries(turn.run.byModel) as [string, Usage][]) {
    const key = [place.day, place.sessionId, place.userId, model].join(" ");
    const known = cells.get(key);
    const sum = known === undefined ? usage : addUsage(known.usage, usage);
    cells.set(key, { ...place, model, turns: (known?.turns ?? 0) + 1, usage: sum });
  }
}
