/**
 * Opening a turn in SQL. It writes first and checks later: the update of the session and the unique indexes decide (T1, T5, T13),
 * whatever other processes do at the same time. A check that is not met undoes the opening, so over a network everything is
 * sent together with the commit. Only a refused opening reads the reason.
 */
import type { Kysely, Transaction } from "kysely";
import { AptoveError } from "../../../domain/errors.ts";
import type { Session } from "../../../domain/session.ts";
import type { OpenResult, TurnOpening } from "../../turns.ts";
import { againIfUnknown, isUniqueViolation, OutcomeUnknown } from "../faults.ts";
import { findIdempotent, idempotencyRow } from "../idempotency.ts";
import { areNewestContexts } from "../contexts.ts";
import { isConditionUnmet } from "../plain/conditions.ts";
import { plain, plainRow, sendTogether, type PlainSql, type RowsOf } from "../plain/plain-sql.ts";
import { laterActivity, sessionToRow } from "../rows/session-row.ts";
import { selectTurn, turnToRow } from "../rows/turn-row.ts";
import { isParticipant } from "../sessions.ts";
import type { SqlDialect } from "../sql-dialect.ts";
import { subagentOrMailRefusal, takeMail } from "../subagents.ts";
import type { Tables, TurnRow } from "../tables.ts";
import { agent, pending } from "../turn-status.ts";
import { budgetCount } from "./budgets.ts";
import { limitChecks, limitRefusal } from "./limits.ts";

/** The maximum number of attempts. Each lost race means that another turn was opened, so this many in a row indicate a fault. */
const openAttemptsMax = 50;

export interface OpeningInSql {
  opening: TurnOpening;
  /** Runs in the same transaction, if the turn is opened. */
  also?: (tx: Transaction<Tables>) => Promise<void>;
}

export async function openRow(db: Kysely<Tables>, dialect: SqlDialect, asked: OpeningInSql): Promise<OpenResult> {
  return await againIfUnknown(() => openOrRefuse(db, dialect, asked));
}

async function openOrRefuse(db: Kysely<Tables>, dialect: SqlDialect, asked: OpeningInSql): Promise<OpenResult> {
  const { opening } = asked;
  for (let attempt = 0; attempt < openAttemptsMax; attempt += 1) {
    const result = (await tryToOpen(db, dialect, asked)) ?? (await refusalOf(db, dialect, opening));
    if (result !== null) return result;
    // The reason for the refusal no longer holds, so the opening is tried again.
  }
  throw new AptoveError(
    "storage_failed",
    `turn ${opening.turn.id} could not be opened, and the reason could not be found`,
  );
}

type Opened = Extract<OpenResult, { outcome: "opened" }>;

/** Rolls the transaction back. */
class NotOpened extends Error {}

/** Returns null if a limit, the session or a unique index refused the turn. Then nothing was written. */
async function tryToOpen(
  db: Kysely<Tables>,
  dialect: SqlDialect,
  { opening, also }: OpeningInSql,
): Promise<Opened | null> {
  try {
    const answer = await db.transaction().execute(async (tx) => {
      const sent = await sendOpening(tx, dialect, opening);
      await also?.(tx);
      return sent;
    });
    return openedTurn(opening, await answer());
  } catch (error) {
    if (error instanceof NotOpened || isConditionUnmet(error) || isUniqueViolation(error)) return null;
    throw error;
  }
}

/** Throws `OutcomeUnknown` if the row was lost with the connection: the transaction is committed. */
function openedTurn({ turn }: TurnOpening, rows: RowsOf): Opened {
  try {
    const [inserted] = rows<InsertedTurn>() as [InsertedTurn];
    const { sequence, lease_expires_at: leaseExpiresAt, budgets } = inserted;
    return { outcome: "opened", turn: { ...turn, sequence, leaseExpiresAt }, hasBudget: budgets > 0 };
  } catch (cause) {
    throw new OutcomeUnknown(`turn ${turn.id} was opened, and the connection broke before its row came`, { cause });
  }
}

type InsertedTurn = Pick<TurnRow, "sequence"> & { lease_expires_at: number; budgets: number };

/** Checks the limits, takes the position and inserts the turn. Returns what waits for the row of the turn. */
async function sendOpening(
  tx: Transaction<Tables>,
  dialect: SqlDialect,
  opening: TurnOpening,
): Promise<() => Promise<RowsOf>> {
  const { turn, idempotency, remembered } = opening;
  const limits = limitChecks(dialect, opening);
  const looksFirst = mustLookFirst(opening);
  if (looksFirst) {
    const answers = await sendTogether(tx, dialect, limits);
    for (const read of await answers()) read();
    await lookFirst(tx, dialect, opening);
  }
  const before = [
    ...(looksFirst ? [] : limits),
    ...(remembered === undefined ? [] : [dialect.check(areNewestContexts(remembered))]),
    ...dialect.writesRow(takePosition(dialect, opening), { table: "sessions", id: turn.sessionId }),
  ];
  const after = [takePart(turn), ...takeMail(opening)];
  if (idempotency !== null) after.push(plain`insert into idempotency ${plainRow(idempotencyRow(idempotency))}`);
  const answers = await sendTogether(tx, dialect, [...before, insertTurn(dialect, opening), ...after]);
  return async () => (await answers())[before.length] as RowsOf;
}

function mustLookFirst({ turn, newSession, subagent, mail }: TurnOpening): boolean {
  return (newSession !== null && turn.parentId !== null) || subagent !== undefined || mail !== undefined;
}

/** Checks what needs the result of a lock. */
async function lookFirst(tx: Transaction<Tables>, dialect: SqlDialect, opening: TurnOpening): Promise<void> {
  if (opening.newSession !== null && !(await holdParent(tx, dialect, opening))) throw new NotOpened();
  if (!(await passesSubagentAndMailChecks(tx, dialect, opening))) throw new NotOpened();
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

/**
 * Takes the next sequence number of a session that is open for turns of this user and has the expected head (T1, S5, S7), or
 * inserts the new session, in which its first turn is already counted. Writes no row if the turn may not be opened.
 */
function takePosition({ rowVersion }: SqlDialect, opening: TurnOpening): PlainSql {
  const { turn, newSession, expectedHead, remembered } = opening;
  if (newSession !== null) return insertSession(opening, newSession);
  const { sessionId, createdBy: userId, createdAt, status } = turn;
  const atHead = turn.subagent === undefined ? plain`and head_turn_id is not distinct from ${expectedHead}` : plain``;
  const isSame =
    remembered === undefined || rowVersion === null ? plain`` : plain`and ${rowVersion} = ${remembered.sessionVersion}`;
  return plain`
    update sessions set
      last_sequence = last_sequence + 1,
      last_turn_status = ${status},
      last_turn_at = ${createdAt},
      active_at = ${laterActivity(createdAt)}
    where id = ${sessionId} and archived_at is null and deleted_at is null
      and (user_id = ${userId}
        or exists (select 1 from participants p where p.session_id = sessions.id and p.user_id = ${userId}))
      ${atHead} ${isSame}`;
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
  return plain`insert into sessions ${plainRow(row)}`;
}

function insertTurn(dialect: SqlDialect, { turn, leaseMs, budgets }: TurnOpening): PlainSql {
  const row = turnToRow({ ...turn, sequence: 0, leaseExpiresAt: 0 });
  const sequence = plain`(select last_sequence from sessions where id = ${turn.sessionId})`;
  const placed = plainRow({ ...row, sequence, lease_expires_at: plain`${dialect.plainNow()} + ${leaseMs}` });
  // Whether there is a budget is read here, so that a turn without one needs no statement of its own (F11, K5).
  return plain`insert into turns ${placed} returning sequence, lease_expires_at, ${budgetCount(budgets)} as budgets`;
}

/** Makes the owner of the session take part in it. Every other author takes part, or was dismissed a moment ago. */
function takePart({ sessionId, createdBy }: TurnOpening["turn"]): PlainSql {
  return plain`
    insert into participants (session_id, user_id)
    select id, user_id from sessions where id = ${sessionId} and user_id = ${createdBy}
    on conflict do nothing`;
}

/** Returns why a turn may not be opened, or that it is. Null if the reason no longer holds. */
async function refusalOf(db: Kysely<Tables>, dialect: SqlDialect, opening: TurnOpening): Promise<OpenResult | null> {
  const refusal = (await limitRefusal(db, dialect, opening)) ?? (await refusalBySession(db, dialect, opening));
  // These are read last: what the same request did in the meantime is the result, not `busy` (T13).
  return (await openedBefore(db, dialect, opening)) ?? (await repeatOf(db, opening)) ?? refusal;
}

/** Returns the turn if an earlier attempt opened it, whose answer was lost. */
async function openedBefore(
  db: Kysely<Tables>,
  dialect: SqlDialect,
  { turn: { id, runnerId, blobs }, budgets }: TurnOpening,
): Promise<OpenResult | null> {
  const turn = await selectTurn(db, dialect, id);
  if (turn?.status !== "pending" || turn.runnerId !== runnerId || turn.blobs.opening !== blobs.opening) return null;
  // Whether a budget exists was lost with the answer. If none does, each call finds none.
  return { outcome: "opened", turn, hasBudget: budgets !== undefined };
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
  const { turn, newSession, expectedHead, remembered } = opening;
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
  if (isElsewhere || remembered !== undefined || (await isTaken()))
    return { outcome: "head_moved", headTurnId: session.head_turn_id };
  return await subagentOrMailRefusal(db, opening);
}
