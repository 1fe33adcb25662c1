/**
 * Finishing a turn in SQL, in one transaction. Only the runner that holds the turn ends it, and not while a control waits. A check that is
 * not met undoes the end, so over a network everything is sent together with the commit. Only a refused end reads the reason.
 */
import type { Kysely, Transaction } from "kysely";
import { mayBeParent } from "../../../domain/turn.ts";
import type { FinishResult, SessionAfterTurn, TurnFinish } from "../../turns.ts";
import { againIfUnknown } from "../faults.ts";
import { isConditionUnmet } from "../plain/conditions.ts";
import { plain, sendTogether, type Answers, type PlainSql, type RowsOf } from "../plain/plain-sql.ts";
import { laterActivity, rowToSession } from "../rows/session-row.ts";
import { selectTurn } from "../rows/turn-row.ts";
import type { SqlDialect } from "../sql-dialect.ts";
import { putMessage, settleMail } from "../subagents.ts";
import type { SessionRow, Tables } from "../tables.ts";
import type { PreparedEnd } from "./turn-ends.ts";

export interface PreparedFinish {
  finish: TurnFinish;
  end: PreparedEnd;
  /** Runs in the same transaction, if the turn finishes. */
  also?(tx: Transaction<Tables>): Promise<void>;
}

export async function finishPrepared(
  db: Kysely<Tables>,
  dialect: SqlDialect,
  prepared: PreparedFinish,
): Promise<FinishResult> {
  const result = await againIfUnknown(() => finishOrRefuse(db, dialect, prepared));
  if (result.outcome === "finished") prepared.end.written?.();
  return result;
}

async function finishOrRefuse(
  db: Kysely<Tables>,
  dialect: SqlDialect,
  prepared: PreparedFinish,
): Promise<FinishResult> {
  try {
    const answers = await db.transaction().execute((tx) => writeFinish(tx, dialect, prepared));
    return { outcome: "finished", ...afterTurn(await answers()) };
  } catch (error) {
    if (isConditionUnmet(error)) return await refusalOf(db, dialect, prepared.finish);
    throw error;
  }
}

async function writeFinish(
  tx: Transaction<Tables>,
  dialect: SqlDialect,
  { finish, end, also }: PreparedFinish,
): Promise<Answers> {
  const { turn, controls, message } = finish;
  await sendTogether(tx, dialect, mayFinish(dialect, finish));
  if (controls === "drop") await sendTogether(tx, dialect, [plain`delete from controls where turn_id = ${turn.id}`]);
  await end.write(tx);
  const messages = message === undefined ? [] : [putMessage(message)];
  const answers = await sendTogether(tx, dialect, [growSession(dialect, finish), ...settleMail(turn), ...messages]);
  await also?.(tx);
  return answers;
}

/** Returns the session as `growSession` left it, if it was asked for. The answer may be lost although the turn is finished. */
function afterTurn([session]: readonly RowsOf[]): { after?: SessionAfterTurn } {
  let rows: (SessionRow & { row_version: string })[];
  try {
    rows = session?.() ?? [];
  } catch {
    return {};
  }
  const [row] = rows;
  if (row === undefined) return {};
  const { row_version: version, ...stored } = row;
  return { after: { session: rowToSession(stored), version } };
}

/** Locks the turn before its controls are looked for, so that no process sends one between that and the end (R3). */
function mayFinish(dialect: SqlDialect, { turn: { id }, runnerId, controls }: TurnFinish): PlainSql[] {
  const own = plain`select id from turns where id = ${id} and status = 'pending' and runner_id = ${runnerId}`;
  const isFree = controls === "drop" ? plain`` : plain`and not exists (select 1 from controls where turn_id = ${id})`;
  return [...dialect.lock(own), dialect.check(plain`exists (${own}) ${isFree}`)];
}

async function refusalOf(
  db: Kysely<Tables>,
  dialect: SqlDialect,
  { turn: { id, digest }, runnerId, controls }: TurnFinish,
): Promise<FinishResult> {
  const turn = await selectTurn(db, dialect, id);
  if (turn?.status === "pending") {
    const isOwn = turn.runnerId === runnerId;
    return isOwn && controls === "take first" ? { outcome: "controlled" } : { outcome: "refused", turn };
  }
  // A turn ends once. If an attempt whose answer was lost counts, this one is refused because of it.
  const isThisEnd = turn !== null && digest !== null && turn.digest === digest;
  return isThisEnd ? { outcome: "finished" } : { outcome: "refused", turn };
}

/** Updates the session of a finished turn: its tokens and its cost, its last use, and maybe its head (S5). */
function growSession({ rowVersion }: SqlDialect, { turn, head, returnsSession }: TurnFinish): PlainSql {
  const { usage } = turn.run;
  const { id, sequence, status, statusAt } = turn;
  const moved =
    head !== null && mayBeParent(turn)
      ? plain`, head_turn_id = case when head_turn_id is not distinct from ${head.from} then ${id} else head_turn_id end`
      : plain``;
  const returned =
    returnsSession === true && rowVersion !== null ? plain`returning *, ${rowVersion} as row_version` : plain``;
  return plain`
    update sessions set
      tokens_total = tokens_total + ${usage.total},
      cost_usd = cost_usd + ${usage.costUsd ?? 0},
      active_at = ${laterActivity(statusAt)},
      last_turn_status = case when last_sequence = ${sequence} then ${status} else last_turn_status end,
      last_turn_at = case when last_sequence = ${sequence} then ${statusAt} else last_turn_at end
      ${moved}
    where id = ${turn.sessionId} ${returned}`;
}
