/** Summaries of sessions in memory (M5). */
import { isCompleted, type CompletedSummary, type EndedSummary, type Summary } from "../../domain/summary.ts";
import type { SummaryRecords } from "../summaries.ts";
import { byAge, insert, type Rows, type SummaryRow } from "./rows.ts";

export function summaryRecords(rows: Rows, now: () => number): SummaryRecords {
  const all = (): SummaryRow[] => [...rows.summaries.values()];
  const isOpen = ({ summary }: SummaryRow): boolean => summary.end === null;
  return {
    async begin(summary, { runnerId, leaseMs }) {
      if (!rows.sessions.has(summary.sessionId) || !rows.turns.has(summary.throughTurnId))
        return { outcome: "missing" };
      const running = all().find((row) => isOpen(row) && row.summary.sessionId === summary.sessionId);
      if (running !== undefined) return { outcome: "running", id: running.summary.id };
      insert(rows.summaries, summary.id, { summary, runnerId, leaseExpiresAt: now() + leaseMs, isStopping: false });
      return { outcome: "begun" };
    },
    async update(summary) {
      const row = rows.summaries.get(summary.id);
      if (row === undefined || !isOpen(row)) return false;
      rows.summaries.set(summary.id, { ...row, summary });
      addToSession(rows, summary);
      return true;
    },
    async get(id) {
      return rows.summaries.get(id)?.summary ?? null;
    },
    async list(sessionId, { limit, status }) {
      return newestFirst(all())
        .filter((one) => one.sessionId === sessionId && (status === undefined || isCompleted(one)))
        .slice(0, limit);
    },
    async newestOf(sessionIds) {
      return [...new Set(sessionIds)].flatMap((id) => newestSummary(rows, id) ?? []);
    },
    async begunIn({ orgId, from, until }) {
      const ended = all().flatMap(({ summary }) => (isEnded(summary) ? [summary] : []));
      return ended
        .filter((one) => one.orgId === orgId && one.createdAt >= from && one.createdAt < until)
        .toSorted(byAge);
    },
    async requestStop(id) {
      const row = rows.summaries.get(id);
      if (row === undefined || !isOpen(row)) return false;
      rows.summaries.set(id, { ...row, isStopping: true });
      return true;
    },
    async renew(ids, { runnerId, leaseMs }) {
      const own = all().filter((row) => isOpen(row) && row.runnerId === runnerId && ids.includes(row.summary.id));
      for (const row of own) rows.summaries.set(row.summary.id, { ...row, leaseExpiresAt: now() + leaseMs });
      return own.map(({ summary: { id }, isStopping }) => ({ id, isStopping }));
    },
    async takeLost({ runnerId, leaseMs, sparedRunnerIds = [] }) {
      const isOver = (row: SummaryRow): boolean =>
        row.leaseExpiresAt <= now() && !sparedRunnerIds.includes(row.runnerId);
      const isLost = (row: SummaryRow): boolean => isOver(row) || !rows.runners.has(row.runnerId);
      const lost = all().filter((row) => isOpen(row) && isLost(row));
      for (const row of lost) rows.summaries.set(row.summary.id, { ...row, runnerId, leaseExpiresAt: now() + leaseMs });
      return lost.map(({ summary }) => summary);
    },
  };
}

/** Inserts ended summaries of an import, but for those that exist. */
export function importSummaries(rows: Rows, summaries: readonly EndedSummary[]): void {
  for (const summary of summaries) {
    if (rows.summaries.has(summary.id)) continue;
    insert(rows.summaries, summary.id, { summary, runnerId: "", leaseExpiresAt: 0, isStopping: false });
    addToSession(rows, summary);
  }
}

function addToSession(rows: Rows, { sessionId, end }: Summary): void {
  const session = rows.sessions.get(sessionId);
  if (session === undefined || end === null) return;
  const { total, costUsd = 0 } = end.usage;
  rows.sessions.set(sessionId, {
    ...session,
    tokensTotal: session.tokensTotal + total,
    costUsd: session.costUsd + costUsd,
  });
}

function isEnded(summary: Summary): summary is EndedSummary {
  return summary.end !== null;
}

/** Returns the newest completed summary of a session. */
export function newestSummary(rows: Rows, sessionId: string): CompletedSummary | undefined {
  const own = [...rows.summaries.values()].filter(({ summary }) => summary.sessionId === sessionId);
  return newestFirst(own).find(isCompleted);
}

function newestFirst(rows: readonly SummaryRow[]): Summary[] {
  return rows.map(({ summary }) => summary).toSorted((one, other) => byAge(other, one));
}
