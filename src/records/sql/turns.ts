/**
 * Turns in SQL. Opening a turn writes first and checks later: the update of the session and the unique indexes decide
 * (T1, T5, T13), whatever other processes do at the same time. Only a refused opening reads the reason.
 */
import { sql, type Kysely, type RawBuilder, type Transaction } from "kysely";
import { AptoveError } from "../../domain/errors.ts";
import type { Session } from "../../domain/session.ts";
import { mayBeParent, type PendingTurn } from "../../domain/turn.ts";
import {
  foundByHistoryMax,
  type FinishResult,
  type FoundByHistory,
  type OpenResult,
  type TurnFinish,
  type TurnOpening,
  type TurnRecords,
} from "../turns.ts";
import { againIfUnknown, isUniqueViolation } from "./faults.ts";
import { plain, plainRow, runTogether, runUnanswered, type PlainSql, type RowsOf } from "./plain/plain-sql.ts";
import { budgetCount } from "./running/budgets.ts";
import { limitCheck, type RunsLimited } from "./running/limits.ts";
import { sessionToRow } from "./rows/session-row.ts";
import { selectLastTurns, selectTurn, rowToTurn, turnToRow } from "./rows/turn-row.ts";
import { archiveStored, hideStored } from "./archive-turn.ts";
import { inBatches } from "./batches.ts";
import { addParticipants, isParticipant } from "./sessions.ts";
import { findIdempotent, idempotencyRow, keepIdempotent } from "./idempotency.ts";
import type { SqlDialect } from "./sql-dialect.ts";
import { insertStep } from "./steps.ts";
import { subagentOrMailRefusal, putMessage, settleMail, takeMail } from "./subagents.ts";
import type { SessionRow, Tables, TurnRow } from "./tables.ts";
import type { PreparedEnd } from "./ends/turn-ends.ts";
import { agent, pending } from "./turn-status.ts";

/** The maximum number of attempts. Each lost race means that another turn was opened, so this many in a row indicate a fault. */
const openAttemptsMax = 50;

export function turnRecords(db: Kysely<Tables>, dialect: SqlDialect): TurnRecords {
  return {
    open: (opening) => openRow(db, dialect, { opening }),
    finish: async (finish) => finishPrepared(db, dialect, { finish, end: await dialect.ends.prepare(finish) }),
    archive: (archival) => db.transaction().execute((tx) => archiveStored(tx, dialect, archival)),
    hide: (hiding) => hideStored(db, hiding),
    get: (id) => selectTurn(db, dialect, id),
    async list(sessionId, { before, limit, kind }) {
      let select = db.selectFrom("turns").selectAll().where("session_id", "=", sessionId);
      if (kind !== undefined) select = select.where("kind", "=", kind);
      if (before !== undefined) select = select.where("sequence", "<", before);
      const rows = await select.orderBy("sequence", "desc").limit(limit).execute();
      return rows.map((row) => rowToTurn(row, dialect.ends));
    },
    listLast: (sessionIds) => inBatches([...new Set(sessionIds)], (batch) => selectLastTurns(db, dialect, batch)),
    async findPending(sessionId) {
      const row = await db
        .selectFrom("turns")
        .selectAll()
        .where("session_id", "=", sessionId)
        .where("status", "=", pending)
        .where("kind", "=", agent)
        .executeTakeFirst();
      return row === undefined ? null : (rowToTurn(row, dialect.ends) as PendingTurn);
    },
    async listPending() {
      const rows = await db.selectFrom("turns").selectAll().where("status", "=", pending).orderBy("id").execute();
      return rows.map((row) => rowToTurn(row, dialect.ends) as PendingTurn);
    },
    findIdempotent: (userId, key) => findIdempotent(db, { userId, key }),
    keepIdempotent: (request) => keepIdempotent(db, request),
    findByHistory: (author, keys) => findByHistory(db, { author, keys }),
    insertStep: (step, runnerId) => insertStep(db, dialect, { step, runnerId }),
    listSteps: (turnId) => dialect.ends.listSteps(db, dialect, turnId),
  };
}

async function findByHistory(
  db: Kysely<Tables>,
  { author, keys }: { author: string; keys: readonly string[] },
): Promise<FoundByHistory[]> {
  if (keys.length === 0) return [];
  const rows = await db
    .selectFrom("turns")
    .select(["id", "history_key"])
    .where("created_by", "=", author)
    .where("history_key", "in", [...keys])
    .orderBy("created_at", "desc")
    .limit(foundByHistoryMax)
    .execute();
  return rows.map(({ id, history_key }) => ({ turnId: id, historyKey: history_key ?? "" }));
}

/** Opens a turn. `also` is done in the same transaction, if the turn is opened. */
export async function openRow(
  db: Kysely<Tables>,
  dialect: SqlDialect,
  { opening, also }: { opening: TurnOpening; also?: ((tx: Transaction<Tables>) => Promise<void>) | undefined },
): Promise<OpenResult> {
  for (let attempt = 0; attempt < openAttemptsMax; attempt += 1) {
    const tried = await tryToOpen(db, dialect, { opening, also });
    if (tried?.outcome === "opened") return tried;
    if (tried?.outcome === "limited") return (await repeatOf(db, opening)) ?? tried;
    const refusal = await refusalOf(db, dialect, opening);
    if (refusal !== null) return refusal;
    // The reason for the refusal no longer holds, so the opening is tried again.
  }
  throw new AptoveError(
    "storage_failed",
    `turn ${opening.turn.id} could not be opened, and the reason could not be found`,
  );
}

type OpenAttempt = Extract<OpenResult, { outcome: "opened" | "limited" }>;

/** Rolls the transaction back. `limited` is the limit that refuses the turn, or null if its session does. */
class NotOpened extends Error {
  readonly limited: RunsLimited | null;

  constructor(limited: RunsLimited | null = null) {
    super("the turn may not be opened");
    this.limited = limited;
  }
}

/** Returns null if the session or a unique index refused the turn. Then, or over a limit, nothing was written. */
async function tryToOpen(
  db: Kysely<Tables>,
  dialect: SqlDialect,
  { opening, also }: Parameters<typeof openRow>[2],
): Promise<OpenAttempt | null> {
  try {
    return await db.transaction().execute(async (tx): Promise<OpenAttempt> => {
      const { turn, hasBudget, mustTakePart } = await writeOpening(tx, dialect, opening);
      if (mustTakePart) await addParticipants(tx, turn.sessionId, [turn.createdBy]);
      await takeMail(tx, opening);
      if (opening.idempotency !== null) {
        await tx.insertInto("idempotency").values(idempotencyRow(opening.idempotency)).execute();
      }
      await also?.(tx);
      return { outcome: "opened", turn, hasBudget };
    });
  } catch (error) {
    if (error instanceof NotOpened) return error.limited;
    if (isUniqueViolation(error)) return null;
    throw error;
  }
}

interface WrittenOpening {
  turn: PendingTurn;
  hasBudget: boolean;
  /** True if the author owns the session and does not take part in it. Every other author takes part, or was dismissed a moment ago. */
  mustTakePart: boolean;
}

/** Checks the limits, takes the position and inserts the turn, if nothing else must be checked first all of it together. */
async function writeOpening(
  tx: Transaction<Tables>,
  dialect: SqlDialect,
  opening: TurnOpening,
): Promise<WrittenOpening> {
  const limit = limitCheck(dialect, opening);
  const mayOpen = (rows: readonly RowsOf[]): void => {
    const limited = limit.refusal(rows);
    if (limited !== null) throw new NotOpened(limited);
  };
  const checksFirst = mustLookFirst(opening);
  if (checksFirst) {
    if (limit.statements.length > 0) mayOpen(await runTogether(tx, dialect, limit.statements));
    if (opening.newSession !== null && !(await holdParent(tx, dialect, opening))) throw new NotOpened();
    if (!(await passesSubagentAndMailChecks(tx, dialect, opening))) throw new NotOpened();
  }
  const before = checksFirst ? [] : limit.statements;
  const writes = [takePosition(opening), insertTurn(dialect, opening)];
  const rows = await runTogether(tx, dialect, [...before, ...writes]);
  if (before.length > 0) mayOpen(rows.slice(0, before.length));
  const [position, inserted] = rows.slice(before.length);
  const taken = position?.<TakenPosition>()[0];
  // No row could be taken, so what was inserted has no position.
  if (taken === undefined) throw new NotOpened();
  const given = inserted?.<InsertedTurn>()[0];
  const { sequence = 0, lease_expires_at: leaseExpiresAt, budgets = 0 } = given ?? {};
  return {
    turn: { ...opening.turn, sequence, leaseExpiresAt: leaseExpiresAt ?? 0 },
    hasBudget: budgets > 0,
    mustTakePart: taken.user_id === opening.turn.createdBy && taken.takes_part === 0,
  };
}

function mustLookFirst({ turn, newSession, subagent, mail }: TurnOpening): boolean {
  return (newSession !== null && turn.parentId !== null) || subagent !== undefined || mail !== undefined;
}

type InsertedTurn = Pick<TurnRow, "lease_expires_at" | "sequence"> & { budgets: number };

function insertTurn(dialect: SqlDialect, { turn, leaseMs, budgets }: TurnOpening): PlainSql {
  const row = turnToRow({ ...turn, sequence: 0, leaseExpiresAt: 0 });
  const sequence = plain`(select last_sequence from sessions where id = ${turn.sessionId})`;
  const placed = plainRow({ ...row, sequence, lease_expires_at: plain`${dialect.plainNow()} + ${leaseMs}` });
  // Whether there is a budget is read here, so that a turn without one needs no statement of its own (F11, K5).
  return plain`insert into turns ${placed} returning sequence, lease_expires_at, ${budgetCount(budgets)} as budgets`;
}

/** Returns whether the turn from which a new session starts exists. No purge deletes it before this transaction ends (S6). */
async function holdParent(tx: Transaction<Tables>, dialect: SqlDialect, { turn }: TurnOpening): Promise<boolean> {
  if (turn.parentId === null) return true;
  const select = tx.selectFrom("turns").select("id").where("id", "=", turn.parentId);
  return (await select.modifyEnd(dialect.lockRows("key share")).executeTakeFirst()) !== undefined;
}

/** Checks the subagent bounds and the mailbox. Locks the session first, so that another process that opens a turn in it waits. */
async function passesSubagentAndMailChecks(
  tx: Transaction<Tables>,
  dialect: SqlDialect,
  opening: TurnOpening,
): Promise<boolean> {
  if (opening.subagent === undefined && opening.mail === undefined) return true;
  const session = tx.selectFrom("sessions").select("id").where("id", "=", opening.turn.sessionId);
  await session.modifyEnd(dialect.lockRows("update")).executeTakeFirst();
  return (await subagentOrMailRefusal(tx, opening)) === null;
}

type TakenPosition = Pick<SessionRow, "user_id"> & { takes_part: number };

/**
 * Takes the next sequence number of a session that is open for turns of this user and has the expected head (T1, S5, S7), or
 * inserts the new session, in which its first turn is already counted. Gives no row if the turn may not be opened.
 */
function takePosition(opening: TurnOpening): PlainSql {
  const { turn, newSession, expectedHead } = opening;
  if (newSession !== null) return insertSession(opening, newSession);
  const { sessionId, createdBy: userId, createdAt, status } = turn;
  const atHead = turn.subagent === undefined ? plain`and head_turn_id is not distinct from ${expectedHead}` : plain``;
  const takesPart = plain`exists (select 1 from participants p where p.session_id = sessions.id and p.user_id = ${userId})`;
  return plain`
    update sessions set
      last_sequence = last_sequence + 1,
      last_turn_status = ${status},
      last_turn_at = ${createdAt},
      active_at = ${plainLatest(createdAt)}
    where id = ${sessionId} and archived_at is null and deleted_at is null
      and (user_id = ${userId} or ${takesPart})
      ${atHead}
    returning user_id, case when ${takesPart} then 1 else 0 end as takes_part`;
}

function insertSession({ turn, expectedHead }: TurnOpening, newSession: Session): PlainSql {
  if (newSession.headTurnId !== expectedHead) throw new NotOpened();
  const row = sessionToRow({
    ...newSession,
    lastSequence: newSession.lastSequence + 1,
    lastTurnStatus: turn.status,
    lastTurnAt: turn.createdAt,
    activeAt: Math.max(newSession.activeAt, turn.createdAt),
  });
  return plain`insert into sessions ${plainRow(row)} returning user_id, 0 as takes_part`;
}

/** Returns why a turn may not be opened. Null if the reason no longer holds. */
async function refusalOf(db: Kysely<Tables>, dialect: SqlDialect, opening: TurnOpening): Promise<OpenResult | null> {
  const refusal = await refusalBySession(db, dialect, opening);
  // This is read last: if the same request opened a turn in the meantime, the result is that turn, not `busy` (T13).
  return (await repeatOf(db, opening)) ?? refusal;
}

async function repeatOf(db: Kysely<Tables>, { idempotency }: TurnOpening): Promise<OpenResult | null> {
  const earlier = idempotency === null ? null : await findIdempotent(db, idempotency);
  return earlier === null ? null : { outcome: "idempotent", earlier };
}

async function refusalBySession(
  db: Kysely<Tables>,
  dialect: SqlDialect,
  opening: TurnOpening,
): Promise<OpenResult | null> {
  const { turn, newSession, expectedHead } = opening;
  if (newSession !== null) {
    if (turn.parentId !== null && (await selectTurn(db, dialect, turn.parentId)) === null)
      return { outcome: "missing" };
    const { headTurnId } = newSession;
    return headTurnId === expectedHead ? null : { outcome: "head_moved", headTurnId };
  }
  const session = await db
    .selectFrom("sessions as s")
    .leftJoin("turns as running", (join) =>
      join.onRef("running.session_id", "=", "s.id").on("running.status", "=", pending).on("running.kind", "=", agent),
    )
    .select(["s.user_id", "s.head_turn_id", "s.archived_at", "s.deleted_at", "running.id as running_id"])
    .where("s.id", "=", turn.sessionId)
    .executeTakeFirst();
  if (session === undefined || session.deleted_at !== null) return { outcome: "missing" };
  const isTheirs = session.user_id === turn.createdBy || (await isParticipant(db, turn.sessionId, turn.createdBy));
  if (!isTheirs) return { outcome: "missing" };
  if (session.archived_at !== null) return { outcome: "archived" };
  if (turn.kind === "agent" && session.running_id !== null)
    return { outcome: "busy", runningTurnId: session.running_id };
  const isTaken = async (): Promise<boolean> => (await selectTurn(db, dialect, turn.id)) !== null;
  const isElsewhere = turn.subagent === undefined && session.head_turn_id !== expectedHead;
  if (isElsewhere || (await isTaken())) return { outcome: "head_moved", headTurnId: session.head_turn_id };
  return await subagentOrMailRefusal(db, opening);
}

export interface PreparedFinish {
  finish: TurnFinish;
  end: PreparedEnd;
  /** What is done in the same transaction, if the turn finishes. */
  also?(tx: Transaction<Tables>): Promise<void>;
}

export async function finishPrepared(
  db: Kysely<Tables>,
  dialect: SqlDialect,
  prepared: PreparedFinish,
): Promise<FinishResult> {
  const attempt = (): Promise<FinishResult> => db.transaction().execute((tx) => finishTurn(tx, dialect, prepared));
  const result = await againIfUnknown(attempt, async (): Promise<FinishResult> => {
    // A turn ends once. If the first attempt counts, this one is refused because of it.
    const again = await attempt();
    return isRefusedByItself(again, prepared.finish) ? { outcome: "finished" } : again;
  });
  if (result.outcome === "finished") prepared.end.written?.();
  return result;
}

function isRefusedByItself(result: FinishResult, { turn }: TurnFinish): boolean {
  if (result.outcome !== "refused" || result.turn === null || result.turn.status === "pending") return false;
  return turn.digest !== null && result.turn.digest === turn.digest;
}

async function finishTurn(
  tx: Transaction<Tables>,
  dialect: SqlDialect,
  { finish, end, also }: PreparedFinish,
): Promise<FinishResult> {
  const { turn, runnerId } = finish;
  // The turn is locked before the controls are read, so that no process sends one between that and the end (R3).
  const lock = dialect.lockedRows("update");
  const [own, controls] = await runTogether(tx, dialect, [
    plain`select id from turns where id = ${turn.id} and status = 'pending' and runner_id = ${runnerId} ${lock}`,
    plain`select id from controls where turn_id = ${turn.id} limit 1`,
  ]);
  if (own?.().length !== 1) return { outcome: "refused", turn: await selectTurn(tx, dialect, turn.id) };
  const isControlled = controls?.().length === 1;
  if (isControlled && finish.controls === "take first") return { outcome: "controlled" };
  if (isControlled) await tx.deleteFrom("controls").where("turn_id", "=", turn.id).execute();

  await end.write(tx);
  await growSession(tx, dialect, finish);
  await settleMail(tx, turn);
  if (finish.message !== undefined) await putMessage(tx, finish.message);
  await also?.(tx);
  return { outcome: "finished" };
}

/** Updates the session of a finished turn: its tokens and its cost, its last use, and maybe its head (S5). */
async function growSession(tx: Transaction<Tables>, dialect: SqlDialect, { turn, head }: TurnFinish): Promise<void> {
  const { usage } = turn.run;
  const { id, sequence, status, statusAt } = turn;
  const moved =
    head !== null && mayBeParent(turn)
      ? plain`, head_turn_id = case when head_turn_id is not distinct from ${head.from} then ${id} else head_turn_id end`
      : plain``;
  const grow = plain`
    update sessions set
      tokens_total = tokens_total + ${usage.total},
      cost_usd = cost_usd + ${usage.costUsd ?? 0},
      active_at = ${plainLatest(statusAt)},
      last_turn_status = case when last_sequence = ${sequence} then ${status} else last_turn_status end,
      last_turn_at = case when last_sequence = ${sequence} then ${statusAt} else last_turn_at end
      ${moved}
    where id = ${turn.sessionId}`;
  await runUnanswered(tx, dialect, grow);
}

/** Returns the later of the session's `active_at` and the new time: activity never goes back (S7). */
export function latest(at: number): RawBuilder<number> {
  return sql<number>`case when active_at < ${at} then ${at} else active_at end`;
}

function plainLatest(at: number): PlainSql {
  return plain`case when active_at < ${at} then ${at} else active_at end`;
}
