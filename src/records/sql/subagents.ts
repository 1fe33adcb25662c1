/** Subagents and the mailbox in SQL (A1, A2): the reads, and the parts of the transactions that open and finish turns. */
import { sql, type Kysely, type Transaction } from "kysely";
import type { MailboxDraft, MailboxMessage } from "../../domain/mailbox.ts";
import { mayBeParent, type FinishedTurn } from "../../domain/turn.ts";
import type { ImportedMessage } from "../imports.ts";
import type { SubagentRecords } from "../subagents.ts";
import type { OpenResult, TurnOpening } from "../turns.ts";
import { batchesOf, inBatches } from "./batches.ts";
import { plain, plainList, plainRow, type PlainSql } from "./plain/plain-sql.ts";
import type { SqlDialect } from "./sql-dialect.ts";
import type { MailboxRow, Tables } from "./tables.ts";
import { rowToTurn } from "./rows/turn-row.ts";

export function subagentRecords(db: Kysely<Tables>, dialect: SqlDialect): SubagentRecords {
  return {
    async listTurns(sessionId, { subagentId, limit }) {
      let select = db.selectFrom("turns").selectAll().where("session_id", "=", sessionId);
      select =
        subagentId === undefined
          ? select.where("subagent_id", "is not", null)
          : select.where("subagent_id", "=", subagentId);
      const rows = await select.orderBy("sequence", "desc").limit(limit).execute();
      return rows.map((row) => rowToTurn(row, dialect.ends));
    },
    async listMail(sessionId, { after, waiting, limit }) {
      let select = db.selectFrom("mailbox").selectAll().where("session_id", "=", sessionId);
      if (after !== undefined) select = select.where("number", ">", after);
      if (waiting === true) select = select.where("taken_by", "is", null);
      const rows = await select.orderBy("number").limit(limit).execute();
      return rows.map(rowToMessage);
    },
  };
}

type SubagentOrMailRefusal = Extract<OpenResult, { outcome: "subagents_limited" | "subagent_moved" | "mail_taken" }>;

/** Returns why the session's subagents or its mailbox refuse the turn, or null if they do not. */
export async function subagentOrMailRefusal(
  db: Kysely<Tables>,
  opening: TurnOpening,
): Promise<SubagentOrMailRefusal | null> {
  return (await subagentRefusal(db, opening)) ?? (await mailRefusal(db, opening));
}

async function subagentRefusal(
  db: Kysely<Tables>,
  { turn, subagent: bounds }: TurnOpening,
): Promise<Exclude<SubagentOrMailRefusal, { outcome: "mail_taken" }> | null> {
  if (turn.subagent === undefined || bounds === undefined) return null;
  const ofSession = db
    .selectFrom("turns")
    .where("session_id", "=", turn.sessionId)
    .where("subagent_id", "is not", null);
  const newest = await ofSession
    .select(["id", "status"])
    .where("subagent_id", "=", turn.subagent.id)
    .orderBy("sequence", "desc")
    .executeTakeFirst();
  const isAsSeen = (newest?.id ?? null) === bounds.seenTurnId && newest?.status !== "pending";
  if (!isAsSeen) return { outcome: "subagent_moved" };
  const { turns, running } = await ofSession
    .select((eb) => [
      eb.fn.countAll<number | string>().as("turns"),
      sql<number | string | null>`sum(case when status = 'pending' then 1 else 0 end)`.as("running"),
    ])
    .executeTakeFirstOrThrow();
  if (Number(turns) >= bounds.turnsMax) return { outcome: "subagents_limited", bound: "turnsMax" };
  return Number(running) >= bounds.runningMax ? { outcome: "subagents_limited", bound: "runningMax" } : null;
}

async function mailRefusal(
  db: Kysely<Tables>,
  { turn, mail = [] }: TurnOpening,
): Promise<Extract<SubagentOrMailRefusal, { outcome: "mail_taken" }> | null> {
  const waiting = await inBatches([...new Set(mail)], (batch) =>
    db
      .selectFrom("mailbox")
      .select("turn_id")
      .where("session_id", "=", turn.sessionId)
      .where("taken_by", "is", null)
      .where("turn_id", "in", batch)
      .execute(),
  );
  return waiting.length === new Set(mail).size ? null : { outcome: "mail_taken" };
}

/** Returns the statements that take the messages. The session's row is locked, so the messages that waited still wait. */
export function takeMail({ turn, mail = [] }: TurnOpening): PlainSql[] {
  return batchesOf([...new Set(mail)]).map((batch) => {
    return plain`update mailbox set taken_by = ${turn.id} where turn_id in (${plainList(batch)})`;
  });
}

/** Returns the statement that delivers the messages that the turn took if it ended well. Otherwise they wait again. */
export function settleMail(turn: FinishedTurn): PlainSql[] {
  if (turn.manifest.mailbox === undefined) return [];
  const end = mayBeParent(turn) ? plain`delivered_at = ${turn.statusAt}` : plain`taken_by = null`;
  return [plain`update mailbox set ${end} where taken_by = ${turn.id} and delivered_at is null`];
}

/** Returns the statement that appends a message. The session's row is locked. */
export function putMessage(message: MailboxDraft): PlainSql {
  const row = messageToRow({ ...message, takenBy: null, deliveredAt: null });
  const number = plain`(select coalesce(max(number), 0) + 1 from mailbox where session_id = ${message.sessionId})`;
  return plain`insert into mailbox ${plainRow({ ...row, number })}`;
}

export async function importMail(tx: Transaction<Tables>, mail: readonly ImportedMessage[]): Promise<void> {
  for (const message of mail) {
    const { takenBy: taken_by, deliveredAt: delivered_at } = message;
    await tx
      .insertInto("mailbox")
      .values({ ...messageToRow(message), number: nextNumber(message) })
      .onConflict((conflict) =>
        conflict.column("turn_id").doUpdateSet({ taken_by, delivered_at }).where("mailbox.taken_by", "is", null),
      )
      .execute();
  }
}

function nextNumber({ sessionId }: MailboxDraft) {
  return sql<number>`(select coalesce(max(number), 0) + 1 from mailbox where session_id = ${sessionId})`;
}

function messageToRow(message: ImportedMessage): Omit<MailboxRow, "number"> {
  return {
    turn_id: message.turnId,
    session_id: message.sessionId,
    kind: message.kind,
    subagent_id: message.subagentId,
    created_at: message.createdAt,
    taken_by: message.takenBy,
    delivered_at: message.deliveredAt,
    doc: JSON.stringify({ name: message.name }),
  };
}

function rowToMessage(row: MailboxRow): MailboxMessage {
  return {
    turnId: row.turn_id,
    sessionId: row.session_id,
    number: row.number,
    kind: row.kind,
    subagentId: row.subagent_id,
    ...(JSON.parse(row.doc) as Pick<MailboxMessage, "name">),
    createdAt: row.created_at,
    takenBy: row.taken_by,
    deliveredAt: row.delivered_at,
  };
}
