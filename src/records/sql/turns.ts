/**
 * Turns in SQL. Opening a turn writes first and checks later: the update of the session and the unique indexes decide
 * (T1, T5, T13), whatever other processes do at the same time. Only a refused opening reads the reason.
 */
import { sql, type Kysely, type RawBuilder, type Transaction } from "kysely";
import { AptoveError } from "../../domain/errors.ts";
import { mayBeParent, type PendingTurn } from "../../domain/turn.ts";
import type { FinishResult, IdempotentRequest, OpenResult, TurnFinish, TurnOpening, TurnRecords } from "../turns.ts";
import { isUniqueViolation } from "./faults.ts";
import { limitRefusal } from "./limits.ts";
import { sessionToRow } from "./rows/session-row.ts";
import { textToRow } from "./rows/text-row.ts";
import { selectTurn, rowToTurn, turnToRow } from "./rows/turn-row.ts";
import { archiveStored } from "./archive-turn.ts";
import { addParticipants, isParticipant } from "./sessions.ts";
import type { SqlDialect } from "./sql-dialect.ts";
import { insertStep, listSteps, stepToRow } from "./steps.ts";
import { subagentOrMailRefusal, putMessage, settleMail, takeMail } from "./subagents.ts";
import type { Tables } from "./tables.ts";
import { agent, pending } from "./turn-status.ts";

/** The maximum number of attempts. Each lost race means that another turn was opened, so this many in a row indicate a fault. */
const openAttemptsMax = 50;

export function turnRecords(db: Kysely<Tables>, dialect: SqlDialect): TurnRecords {
  return {
    open: (opening) => openTurn(db, dialect, opening),
    finish: (finish) => db.transaction().execute((tx) => finishTurn(tx, dialect, finish)),
    archive: (archival) => db.transaction().execute((tx) => archiveStored(tx, dialect, archival)),
    get: (id) => selectTurn(db, id),
    async list(sessionId, { before, limit, kind }) {
      let select = db.selectFrom("turns").selectAll().where("session_id", "=", sessionId);
      if (kind !== undefined) select = select.where("kind", "=", kind);
      if (before !== undefined) select = select.where("sequence", "<", before);
      const rows = await select.orderBy("sequence", "desc").limit(limit).execute();
      return rows.map(rowToTurn);
    },
    async findPending(sessionId) {
      const row = await db
        .selectFrom("turns")
        .selectAll()
        .where("session_id", "=", sessionId)
        .where("status", "=", pending)
        .where("kind", "=", agent)
        .executeTakeFirst();
      return row === undefined ? null : (rowToTurn(row) as PendingTurn);
    },
    findIdempotent: (userId, key) => findIdempotent(db, { userId, key }),
    insertStep: (step, runnerId) => insertStep(db, dialect, { step, runnerId }),
    listSteps: (turnId) => listSteps(db, turnId),
  };
}

async function findIdempotent(
  db: Kysely<Tables>,
  { userId, key }: { userId: string; key: string },
): Promise<IdempotentRequest | null> {
  const row = await db
    .selectFrom("idempotency")
    .selectAll()
    .where("user_id", "=", userId)
    .where("key", "=", key)
    .executeTakeFirst();
  return row === undefined ? null : { userId, key, requestHash: row.request_hash, turnId: row.turn_id };
}

async function openTurn(db: Kysely<Tables>, dialect: SqlDialect, opening: TurnOpening): Promise<OpenResult> {
  for (let attempt = 0; attempt < openAttemptsMax; attempt += 1) {
    const tried = await tryToOpen(db, dialect, opening);
    if (tried?.outcome === "opened") return tried;
    if (tried?.outcome === "limited") return (await repeatOf(db, opening)) ?? tried;
    const refusal = await refusalOf(db, opening);
    if (refusal !== null) return refusal;
    // The reason for the refusal no longer holds, so the opening is tried again.
  }
  throw new AptoveError(
    "storage_failed",
    `turn ${opening.turn.id} could not be opened, and the reason could not be found`,
  );
}

type OpenAttempt = Extract<OpenResult, { outcome: "opened" | "limited" }>;

/** Returns null if the session or a unique index refused the turn. Then, or over a limit, nothing was written. */
async function tryToOpen(db: Kysely<Tables>, dialect: SqlDialect, opening: TurnOpening): Promise<OpenAttempt | null> {
  try {
    return await db.transaction().execute(async (tx): Promise<OpenAttempt | null> => {
      const limited = await limitRefusal(tx, dialect, opening);
      if (limited !== null) return limited;
      if (opening.newSession !== null && !(await holdParent(tx, dialect, opening))) return null;
      if (!(await passesSubagentAndMailChecks(tx, dialect, opening))) return null;
      const position = opening.newSession === null ? await takePosition(tx, opening) : await insertSession(tx, opening);
      if (position === null) return null;
      const turn = await insertTurn(tx, dialect, { ...opening, sequence: position.sequence });
      // Every other author takes part already, or was dismissed a moment ago.
      if (position.ownerId === turn.createdBy) await addParticipants(tx, turn.sessionId, [turn.createdBy]);
      await takeMail(tx, opening);
      if (opening.idempotency !== null) {
        const { userId, key, requestHash, turnId } = opening.idempotency;
        const row = { user_id: userId, key, request_hash: requestHash, turn_id: turnId };
        await tx.insertInto("idempotency").values(row).execute();
      }
      return { outcome: "opened", turn };
    });
  } catch (error) {
    if (isUniqueViolation(error)) return null;
    throw error;
  }
}

async function insertTurn(
  tx: Transaction<Tables>,
  dialect: SqlDialect,
  { turn, sequence, leaseMs }: TurnOpening & { sequence: number },
): Promise<PendingTurn> {
  const row = turnToRow({ ...turn, sequence, leaseExpiresAt: 0 });
  const { lease_expires_at } = await tx
    .insertInto("turns")
    .values({ ...row, lease_expires_at: sql<number>`${dialect.now()} + ${sql.lit(leaseMs)}` })
    .returning("lease_expires_at")
    .executeTakeFirstOrThrow();
  return { ...turn, sequence, leaseExpiresAt: lease_expires_at ?? 0 };
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

/** The position of a turn in its session. */
interface TurnPosition {
  sequence: number;
  ownerId: string;
}

/**
 * Takes the next sequence number of a session that is open for turns of this user and has the expected head (T1, S5, S7).
 * It is plain SQL text because it is long and runs with every turn: building it would cost more than executing it.
 */
async function takePosition(
  tx: Transaction<Tables>,
  { turn, expectedHead }: TurnOpening,
): Promise<TurnPosition | null> {
  const { sessionId, createdBy: userId, createdAt, status } = turn;
  const atHead = turn.subagent === undefined ? sql`and head_turn_id is not distinct from ${expectedHead}` : sql``;
  const { rows } = await sql<{ last_sequence: number; user_id: string }>`
    update sessions set
      last_sequence = last_sequence + 1,
      last_turn_status = ${status},
      last_turn_at = ${createdAt},
      active_at = ${latest(createdAt)}
    where id = ${sessionId} and archived_at is null and deleted_at is null
      and (user_id = ${userId} or id in (select session_id from participants where user_id = ${userId}))
      ${atHead}
    returning last_sequence, user_id`.execute(tx);
  const session = rows[0];
  return session === undefined ? null : { sequence: session.last_sequence, ownerId: session.user_id };
}

/** Inserts the new session, in which its first turn is already counted. */
async function insertSession(
  tx: Transaction<Tables>,
  { turn, newSession, expectedHead }: TurnOpening,
): Promise<TurnPosition | null> {
  if (newSession === null || newSession.headTurnId !== expectedHead) return null;
  const sequence = newSession.lastSequence + 1;
  const row = sessionToRow({
    ...newSession,
    lastSequence: sequence,
    lastTurnStatus: turn.status,
    lastTurnAt: turn.createdAt,
    activeAt: Math.max(newSession.activeAt, turn.createdAt),
  });
  await tx.insertInto("sessions").values(row).execute();
  return { sequence, ownerId: newSession.userId };
}

/** Returns why a turn may not be opened. Null if the reason no longer holds. */
async function refusalOf(db: Kysely<Tables>, opening: TurnOpening): Promise<OpenResult | null> {
  const refusal = await refusalBySession(db, opening);
  // This is read last: if the same request opened a turn in the meantime, the result is that turn, not `busy` (T13).
  return (await repeatOf(db, opening)) ?? refusal;
}

async function repeatOf(db: Kysely<Tables>, { idempotency }: TurnOpening): Promise<OpenResult | null> {
  const earlier = idempotency === null ? null : await findIdempotent(db, idempotency);
  return earlier === null ? null : { outcome: "idempotent", earlier };
}

async function refusalBySession(db: Kysely<Tables>, opening: TurnOpening): Promise<OpenResult | null> {
  const { turn, newSession, expectedHead } = opening;
  if (newSession !== null) {
    if (turn.parentId !== null && (await selectTurn(db, turn.parentId)) === null) return { outcome: "missing" };
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
  const isTaken = async (): Promise<boolean> => (await selectTurn(db, turn.id)) !== null;
  const isElsewhere = turn.subagent === undefined && session.head_turn_id !== expectedHead;
  if (isElsewhere || (await isTaken())) return { outcome: "head_moved", headTurnId: session.head_turn_id };
  return await subagentOrMailRefusal(db, opening);
}

async function finishTurn(tx: Transaction<Tables>, dialect: SqlDialect, finish: TurnFinish): Promise<FinishResult> {
  const { turn, steps, text, runnerId } = finish;
  // The turn is locked before the controls are read, so that no process sends one between that and the end (R3).
  const own = await tx
    .selectFrom("turns")
    .select("id")
    .where("id", "=", turn.id)
    .where("status", "=", pending)
    .where("runner_id", "=", runnerId)
    .modifyEnd(dialect.lockRows("update"))
    .executeTakeFirst();
  if (own === undefined) return { outcome: "refused", turn: await selectTurn(tx, turn.id) };
  const isControlled = await tx.selectFrom("controls").select("id").where("turn_id", "=", turn.id).executeTakeFirst();
  if (isControlled !== undefined && finish.controls === "take first") return { outcome: "controlled" };
  if (isControlled !== undefined) await tx.deleteFrom("controls").where("turn_id", "=", turn.id).execute();

  const { status, doc, runner_id, lease_expires_at } = turnToRow(turn);
  await tx.updateTable("turns").set({ status, doc, runner_id, lease_expires_at }).where("id", "=", turn.id).execute();
  if (steps.length > 0) await tx.insertInto("steps").values(steps.map(stepToRow)).execute();
  if (text !== null) {
    const row = { session_id: turn.sessionId, sequence: turn.sequence, ...textToRow(text) };
    await tx.insertInto("texts").values(row).execute();
  }
  await growSession(tx, finish);
  await settleMail(tx, turn);
  if (finish.message !== undefined) await putMessage(tx, finish.message);
  return { outcome: "finished" };
}

/** Updates the session of a finished turn: its tokens and its cost, its last use, and maybe its head (S5). */
async function growSession(tx: Transaction<Tables>, { turn, head }: TurnFinish): Promise<void> {
  const { usage } = turn.run;
  const ofNewest = (column: string, value: string | number) =>
    sql`${sql.ref(column)} = case when last_sequence = ${turn.sequence} then ${value} else ${sql.ref(column)} end`;
  const moved =
    head !== null && mayBeParent(turn)
      ? sql`, head_turn_id = case when head_turn_id is not distinct from ${head.from} then ${turn.id} else head_turn_id end`
      : sql``;
  await sql`
    update sessions set
      tokens_total = tokens_total + ${usage.total},
      cost_usd = cost_usd + ${usage.costUsd ?? 0},
      active_at = ${latest(turn.statusAt)},
      ${ofNewest("last_turn_status", turn.status)},
      ${ofNewest("last_turn_at", turn.statusAt)}
      ${moved}
    where id = ${turn.sessionId}`.execute(tx);
}

/** Returns the later of the session's `active_at` and the new time: activity never goes back (S7). */
export function latest(at: number): RawBuilder<number> {
  return sql<number>`case when active_at < ${at} then ${at} else active_at end`;
}
