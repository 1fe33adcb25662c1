/** Counters across servers in SQL: running turns, and requests per window of time (H5). */
import { sql, type Kysely } from "kysely";
import type { LimitRecords, RateTaken } from "../../limits.ts";
import type { OpenResult, TurnOpening } from "../../turns.ts";
import { plain, runPlain, type PlainSql } from "../plain/plain-sql.ts";
import type { SqlDialect } from "../sql-dialect.ts";
import type { Tables } from "../tables.ts";

export function limitRecords(db: Kysely<Tables>, dialect: SqlDialect): LimitRecords {
  return {
    countRuns: (who) => countRuns(db, dialect, who),
    async takeRate({ scope, amount, windowMs }): Promise<RateTaken> {
      const slot = sql<number>`floor(${dialect.now()} / ${sql.lit(windowMs)})`;
      // If the clock was set back a little, the current window stays. Longer than that it would keep callers out until its time comes.
      const row = await db
        .insertInto("rates")
        .values({ scope, slot, used: amount, previous: 0 })
        .onConflict((conflict) =>
          conflict.column("scope").doUpdateSet((eb) => {
            const isOther = eb.or([
              eb("rates.slot", "<", eb.ref("excluded.slot")),
              eb("rates.slot", ">", sql<number>`excluded.slot + 1`),
            ]);
            const isNext = eb("rates.slot", "=", sql<number>`excluded.slot - 1`);
            const kept = eb.case().when(isNext).then(eb.ref("rates.used")).else(0).end();
            return {
              previous: eb.case().when(isOther).then(kept).else(eb.ref("rates.previous")).end(),
              used: eb
                .case()
                .when(isOther)
                .then(eb.ref("excluded.used"))
                .else(eb("rates.used", "+", eb.ref("excluded.used")))
                .end(),
              slot: eb.case().when(isOther).then(eb.ref("excluded.slot")).else(eb.ref("rates.slot")).end(),
            };
          }),
        )
        .returning(["used", "previous", "slot", sql<number>`${dialect.now()}`.as("now")])
        .executeTakeFirstOrThrow();
      const elapsedMs = Math.max(0, Math.min(windowMs, row.now - row.slot * windowMs));
      return { used: row.used, previous: row.previous, elapsedMs };
    },
  };
}

type RunOwner = { userId: string; orgId: string };

/** The selects of how many turns run, in the partial index of pending turns. */
function runsOf({ userId, orgId }: RunOwner): { user: PlainSql; org: PlainSql } {
  const running = plain`select count(*) from turns where status = 'pending'`;
  return {
    user: plain`(${running} and created_by = ${userId})`,
    // The sessions are looked up for the turns that run: an org has many more of them.
    org: plain`(${running} and exists (select 1 from sessions s where s.id = session_id and s.org_id = ${orgId}))`,
  };
}

async function countRuns(
  db: Kysely<Tables>,
  dialect: SqlDialect,
  owner: RunOwner,
): Promise<{ user: number; org: number }> {
  const { user, org } = runsOf(owner);
  const { rows } = await runPlain<{ of_user: number; of_org: number }>(
    db,
    dialect,
    plain`select ${user} as of_user, ${org} as of_org`,
  );
  return { user: rows[0]?.of_user ?? 0, org: rows[0]?.of_org ?? 0 };
}

/**
 * Returns the statements that let a turn open only below its limits. They run before anything is written or locked. Every other
 * transaction that would open a turn of the same user, or org, waits until this one ends, so two servers cannot both take the
 * last free position.
 */
export function limitChecks(dialect: SqlDialect, { turn, runLimits }: TurnOpening): PlainSql[] {
  if (runLimits === undefined) return [];
  const { orgId, perUser, perOrg } = runLimits;
  const userId = turn.createdBy;
  const { user, org } = runsOf({ userId, orgId });
  const ofUser = perUser === null ? [] : [dialect.check(plain`${user} < ${perUser}`)];
  const ofOrg = perOrg === null ? [] : [dialect.check(plain`${org} < ${perOrg}`)];
  const alone = dialect.exclusiveLock(perOrg === null ? `runs of user ${userId}` : `runs of org ${orgId}`);
  return [...alone, ...ofUser, ...ofOrg];
}

/** Returns the limit that refuses a turn, or null if none is reached. */
export async function limitRefusal(
  db: Kysely<Tables>,
  dialect: SqlDialect,
  { turn, runLimits }: TurnOpening,
): Promise<Extract<OpenResult, { outcome: "limited" }> | null> {
  if (runLimits === undefined) return null;
  const { orgId, perUser, perOrg } = runLimits;
  const { user, org } = await countRuns(db, dialect, { userId: turn.createdBy, orgId });
  if (perUser !== null && user >= perUser) return { outcome: "limited", of: "user", running: user, limit: perUser };
  if (perOrg !== null && org >= perOrg) return { outcome: "limited", of: "org", running: org, limit: perOrg };
  return null;
}
