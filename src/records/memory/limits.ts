/** Counters of turns and requests in memory (H5). */
import type { LimitRecords } from "../limits.ts";
import type { OpenResult, TurnOpening } from "../turns.ts";
import type { Rows } from "./rows.ts";

export function limitRecords(rows: Rows, now: () => number): LimitRecords {
  return {
    async countRuns(who) {
      return countRuns(rows, who);
    },
    async takeRate({ scope, amount, windowMs }) {
      const at = now();
      const slot = Math.floor(at / windowMs);
      const known = rows.rates.get(scope) ?? { slot, used: 0, previous: 0 };
      const isOther = known.slot < slot || known.slot > slot + 1;
      const previous = !isOther ? known.previous : known.slot === slot - 1 ? known.used : 0;
      const rate = { slot: isOther ? slot : known.slot, used: (isOther ? 0 : known.used) + amount, previous };
      rows.rates.set(scope, rate);
      const elapsedMs = Math.max(0, Math.min(windowMs, at - rate.slot * windowMs));
      return { used: rate.used, previous, elapsedMs };
    },
  };
}

function countRuns(rows: Rows, { userId, orgId }: { userId: string; orgId: string }): { user: number; org: number } {
  const running = [...rows.turns.values()].filter((turn) => turn.status === "pending");
  return {
    user: running.filter((turn) => turn.createdBy === userId).length,
    org: running.filter((turn) => rows.sessions.get(turn.sessionId)?.orgId === orgId).length,
  };
}

/** Returns why the turn may not open, or null if no limit is reached. */
export function limitRefusal(
  rows: Rows,
  { turn, runLimits }: TurnOpening,
): Extract<OpenResult, { outcome: "limited" }> | null {
  if (runLimits === undefined) return null;
  const { orgId, perUser, perOrg } = runLimits;
  const { user, org } = countRuns(rows, { userId: turn.createdBy, orgId });
  if (perUser !== null && user >= perUser) return { outcome: "limited", of: "user", running: user, limit: perUser };
  return perOrg !== null && org >= perOrg ? { outcome: "limited", of: "org", running: org, limit: perOrg } : null;
}
