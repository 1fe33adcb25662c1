/** Counters across servers in SQL: running turns, and requests per window of time (H5). */
import { sql, type Kysely } from "kysely";
import type { LimitRecords, RateTaken } from "../../limits.ts";
import type { OpenResult, TurnOpening } from "../../turns.ts";
import { plain, type PlainSql, type RowsOf } from "../plain/plain-sql.ts";
import type { SqlDialect } from "../sql-dialect.ts";
import type { Tables } from "../tables.ts";
import { pending } from "../turn-status.ts";

export function limitRecords(db: Kysely<Tables>, dialect: SqlDialect): LimitRecords {
  return {
    countRuns: (who) => countRuns(db, who),
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

async function countRuns(db: Kysely<Tables>, { userId, orgId }: RunOwner): Promise<{ user: number; org: number }> {
  const { user, org } = await db
    .selectNoFrom((eb) => [
      eb
        .selectFrom("turns")
        .select((of) => of.fn.countAll<number>().as("count"))
        .where("status", "=", pending)
        .where("created_by", "=", userId)
        .as("user"),
      eb
        .selectFrom("turns")
        .innerJoin("sessions", "sessions.id", "turns.session_id")
        .select((of) => of.fn.countAll<number>().as("count"))
        .where("turns.status", "=", pending)
        .where("sessions.org_id", "=", orgId)
        .as("org"),
    ])
    .executeTakeFirstOrThrow();
  return { user: user ?? 0, org: org ?? 0 };
}

/** Decides whether a limit allows a turn to open. */
export interface LimitCheck {
  /** They run in the transaction that opens the turn, before anything is written or locked. */
  statements: readonly PlainSql[];
  /** Returns why the turn may not open, by the rows of the statements. Null: no limit is reached. */
  refusal(rows: readonly RowsOf[]): RunsLimited | null;
}

export type RunsLimited = Extract<OpenResult, { outcome: "limited" }>;

/**
 * Makes the check. Every other transaction that would open a turn of the same user, or org, waits until this one ends, so two
 * servers cannot both take the last free position.
 */
export function limitCheck(dialect: SqlDialect, { turn, runLimits }: TurnOpening): LimitCheck {
  if (runLimits === undefined) return { statements: [], refusal: () => null };
  const { orgId, perUser, perOrg } = runLimits;
  const userId = turn.createdBy;
  const alone = dialect.exclusiveLock(perOrg === null ? `runs of user ${userId}` : `runs of org ${orgId}`);
  const running = plain`turns where status = 'pending'`;
  const counts = [
    plain`select count(*) as running from ${running} and created_by = ${userId}`,
    ...(perOrg === null
      ? []
      : [
          // The sessions are looked up for the turns that run: an org has many more of them.
          plain`
            select count(*) as running from ${running}
            and exists (select 1 from sessions s where s.id = session_id and s.org_id = ${orgId})`,
        ]),
  ];
  return {
    statements: alone === null ? counts : [alone, ...counts],
    refusal: (rows) => {
      const [user = 0, org = 0] = rows
        .slice(-counts.length)
        .map((read) => read<{ running: number }>()[0]?.running ?? 0);
      if (perUser !== null && user >= perUser) return { outcome: "limited", of: "user", running: user, limit: perUser };
      if (perOrg !== null && org >= perOrg) return { outcome: "limited", of: "org", running: org, limit: perOrg };
      return null;
    },
  };
}
