/** Sessions in SQL: changes by users, lists, and the tree of turns. `turns.ts` has the changes that turns make. */
import { sql, type ExpressionBuilder, type Kysely, type Transaction } from "kysely";
import { AptoveError } from "../../domain/errors.ts";
import type { Session } from "../../domain/session.ts";
import { mayBeParent } from "../../domain/turn.ts";
import { changedSession } from "../changed-session.ts";
import { hasDocumentFilter, matchesDocument } from "../session-filter.ts";
import type {
  HeadMove,
  MoveResult,
  SessionChange,
  SessionPage,
  SessionQuery,
  SessionRecords,
  SessionWithHead,
} from "../sessions.ts";
import { listForks } from "./lists/forks.ts";
import { hasVisibleOrigin, isVisible, takesPart } from "./lists/visible-sessions.ts";
import { plain, runPlain, runTogether } from "./plain/plain-sql.ts";
import { rowToSession, sessionToRow } from "./rows/session-row.ts";
import { rowToTurn, selectTurn } from "./rows/turn-row.ts";
import type { SqlDialect } from "./sql-dialect.ts";
import type { HeadMoveRow, SessionRow, Tables, TurnRow } from "./tables.ts";
import { agent, pending } from "./turn-status.ts";

/** The id that stands for no turn in a move that leaves no head: the column cannot be null. */
const noTurnId = "00000000-0000-0000-0000-000000000000";

/** The maximum number of attempts. Each lost race means that another writer succeeded, so this many in a row indicate a fault. */
const updateAttemptsMax = 50;

export function sessionRecords(db: Kysely<Tables>, dialect: SqlDialect): SessionRecords {
  return {
    async insert(session) {
      await db.insertInto("sessions").values(sessionToRow(session)).execute();
    },
    async get(id) {
      const { rows } = await runPlain<SessionRow>(db, dialect, plain`select * from sessions where id = ${id}`);
      return rows[0] === undefined ? null : rowToSession(rows[0]);
    },
    getWithHead: (id) => sessionWithHead(db, dialect, id),
    update: (id, change, at) => updateSession(db, { id, change, at }),
    list: (query) => listSessions(db, query),
    count: (query) => countSessions(db, query),
    async listDeleted({ orgId, userId, workspaceId, limit }) {
      const rows = await db
        .selectFrom("sessions")
        .selectAll()
        .where("org_id", "=", orgId)
        .where("user_id", "=", userId)
        .where("deleted_at", "is not", null)
        .$if(workspaceId !== undefined, (select) => select.where("workspace_id", "=", workspaceId ?? ""))
        .orderBy("deleted_at", "desc")
        .orderBy("id", "desc")
        .limit(limit)
        .execute();
      return rows.map(rowToSession);
    },
    isParticipant: (sessionId, userId) => isParticipant(db, sessionId, userId),
    async listParticipants(sessionId) {
      const all = db.selectFrom("participants").select("user_id").where("session_id", "=", sessionId);
      return (await all.orderBy("user_id").execute()).map((row) => row.user_id);
    },
    changeParticipants: (sessionId, change) =>
      db.transaction().execute((tx) => changeParticipants(tx, sessionId, change)),
    moveHead: (move) => db.transaction().execute((tx) => moveHead(tx, dialect, move)),
    async listHeadMoves(sessionId) {
      const rows = await db
        .selectFrom("head_moves")
        .selectAll()
        .where("session_id", "=", sessionId)
        .orderBy("move")
        .execute();
      return rows.map(rowToMove);
    },
    listForks: (query) => listForks(db, query),
  };
}

async function sessionWithHead(db: Kysely<Tables>, dialect: SqlDialect, id: string): Promise<SessionWithHead | null> {
  const [sessions, turns] = await runTogether(db, dialect, [
    plain`select * from sessions where id = ${id}`,
    plain`select * from turns where id = (select coalesce(head_turn_id, origin_turn_id) from sessions where id = ${id})`,
  ]);
  const [found] = sessions?.<SessionRow>() ?? [];
  if (found === undefined) return null;
  const session = rowToSession(found);
  const headId = session.headTurnId ?? session.originTurnId;
  const [row] = turns?.<TurnRow>() ?? [];
  // The head may have moved between the two statements.
  if (row?.id !== headId) return { session, head: headId === null ? null : await selectTurn(db, dialect, headId) };
  return { session, head: row === undefined ? null : rowToTurn(row, dialect.ends) };
}

interface SessionUpdate {
  id: string;
  change: SessionChange;
  at: number | null;
}

async function updateSession(db: Kysely<Tables>, { id, change, at }: SessionUpdate): Promise<Session | null> {
  for (let attempt = 0; attempt < updateAttemptsMax; attempt += 1) {
    const row = await db.selectFrom("sessions").selectAll().where("id", "=", id).executeTakeFirst();
    if (row === undefined) return null;
    const { doc, is_public, is_draft, folded_name, folded_details } = sessionToRow(
      changedSession(rowToSession(row), change),
    );
    // The document is replaced only if it is still the one that was read, so no change overwrites another.
    const updated = await db
      .updateTable("sessions")
      .set({
        doc,
        is_public,
        is_draft,
        folded_name,
        folded_details,
        ...(at !== null && { updated_at: at }),
        ...(change.archivedAt !== undefined && { archived_at: change.archivedAt }),
        ...(change.deletedAt !== undefined && { deleted_at: change.deletedAt }),
      })
      .where("id", "=", id)
      .where("doc", "=", row.doc)
      .where("is_public", "=", row.is_public)
      .where("is_draft", "=", row.is_draft)
      .returningAll()
      .executeTakeFirst();
    if (updated !== undefined) return rowToSession(updated);
  }
  throw new AptoveError("storage_failed", `session ${id} was changed by others at every attempt to change it`);
}

/** Filters without a column are applied to the rows, which are read in batches until the page is full. */
async function listSessions(db: Kysely<Tables>, query: SessionQuery): Promise<SessionPage> {
  const { limit } = query;
  // One session more than the page shows whether there is another page.
  const batch = hasDocumentFilter(query) ? Math.max(limit + 1, filteredBatch) : limit + 1;
  const found: Session[] = [];
  let { after } = query;
  for (;;) {
    const rows = await pageOfSessions(db, { ...query, after }, batch);
    found.push(...rows.map(rowToSession).filter((session) => matchesDocument(session, query)));
    const last = rows.at(-1);
    if (found.length > limit || rows.length < batch || last === undefined) break;
    after = { activeAt: last.active_at, id: last.id };
  }
  const sessions = found.slice(0, limit);
  const last = sessions.at(-1);
  const next = found.length > limit && last !== undefined ? { activeAt: last.activeAt, id: last.id } : null;
  return { sessions, next };
}

/** How many rows are read at once if they are filtered after they were read. */
const filteredBatch = 500;

type PagePosition = Omit<SessionQuery, "after"> & { after: SessionQuery["after"] };

async function pageOfSessions(db: Kysely<Tables>, query: PagePosition, count: number): Promise<SessionRow[]> {
  const { after } = query;
  let select = db
    .selectFrom("sessions as s")
    .selectAll("s")
    .where(isVisible(query))
    .where(hasColumns(query))
    .orderBy("s.active_at", "desc")
    .orderBy("s.id", "desc")
    .limit(count);
  if (after !== undefined) {
    select = select.where(({ eb, refTuple, tuple }) =>
      eb(refTuple("s.active_at", "s.id"), "<", tuple(after.activeAt, after.id)),
    );
  }
  return await select.execute();
}

async function countSessions(db: Kysely<Tables>, query: Omit<SessionQuery, "limit" | "after">): Promise<number> {
  if (hasDocumentFilter(query)) {
    let count = 0;
    for (let after: SessionQuery["after"] | null = undefined; after !== null;) {
      const page: SessionPage = await listSessions(db, { ...query, limit: filteredBatch, ...(after && { after }) });
      count += page.sessions.length;
      after = page.next;
    }
    return count;
  }
  const { count } = await db
    .selectFrom("sessions as s")
    .where(isVisible(query))
    .where(hasColumns(query))
    .select((eb) => eb.fn.countAll<number>().as("count"))
    .executeTakeFirstOrThrow();
  return Number(count);
}

/** Selects by the filters that have a column. The query names the table `s`. */
function hasColumns(filter: Omit<SessionQuery, "limit" | "after">) {
  return (eb: ExpressionBuilder<Tables & { s: SessionRow }, "s">) => {
    const { archived, repo, memberId, status, activeFrom, activeUntil, tokensMin, tokensMax, forkOf, isRoot } = filter;
    return eb.and([
      ...(forkOf === undefined ? [] : [eb("s.origin_turn_id", "=", forkOf)]),
      ...(isRoot === undefined ? [] : [eb.not(hasVisibleOrigin(eb, filter))]),
      ...(archived === undefined ? [] : [eb("s.archived_at", archived ? "is not" : "is", null)]),
      ...(memberId === undefined ? [] : [isMember(eb, memberId)]),
      ...(repo === undefined ? [] : [eb("s.repo", "=", repo)]),
      ...(status === undefined ? [] : [eb("s.last_turn_status", "=", status)]),
      ...(activeFrom === undefined ? [] : [eb("s.active_at", ">=", activeFrom)]),
      ...(activeUntil === undefined ? [] : [eb("s.active_at", "<=", activeUntil)]),
      ...(tokensMin === undefined ? [] : [eb("s.tokens_total", ">=", tokensMin)]),
      ...(tokensMax === undefined ? [] : [eb("s.tokens_total", "<=", tokensMax)]),
    ]);
  };
}

function isMember(eb: ExpressionBuilder<Tables & { s: SessionRow }, "s">, userId: string) {
  return eb.or([eb("s.user_id", "=", userId), takesPart(eb, userId)]);
}

/** Returns whether the user takes part in the session (S7). */
export async function isParticipant(db: Kysely<Tables>, sessionId: string, userId: string): Promise<boolean> {
  const all = db.selectFrom("participants").select("user_id").where("session_id", "=", sessionId);
  return (await all.where("user_id", "=", userId).executeTakeFirst()) !== undefined;
}

async function changeParticipants(
  tx: Transaction<Tables>,
  sessionId: string,
  { invited, dismissed }: { invited: string[]; dismissed: string[] },
): Promise<void> {
  const session = tx.selectFrom("sessions").select("id").where("id", "=", sessionId);
  if ((await session.executeTakeFirst()) === undefined) return;
  if (invited.length > 0) await addParticipants(tx, sessionId, invited);
  if (dismissed.length > 0) {
    const gone = tx.deleteFrom("participants").where("session_id", "=", sessionId);
    await gone.where("user_id", "in", dismissed).execute();
  }
}

/** Makes the users take part in the session. */
async function addParticipants(tx: Transaction<Tables>, sessionId: string, userIds: string[]): Promise<void> {
  const rows = userIds.map((userId) => ({ session_id: sessionId, user_id: userId }));
  await tx
    .insertInto("participants")
    .values(rows)
    .onConflict((conflict) => conflict.doNothing())
    .execute();
}

/** Locks the session for the whole transaction. A process that opens a turn writes the session first, so it has to wait. */
async function moveHead(tx: Transaction<Tables>, dialect: SqlDialect, move: HeadMove): Promise<MoveResult> {
  const session = await tx
    .selectFrom("sessions")
    .select(["head_turn_id", "archived_at", "deleted_at"])
    .where("id", "=", move.sessionId)
    .modifyEnd(dialect.lockRows("update"))
    .executeTakeFirst();
  if (session === undefined || session.deleted_at !== null) return { outcome: "missing" };
  if (session.archived_at !== null) return { outcome: "archived" };
  const running = await tx
    .selectFrom("turns")
    .select("id")
    .where("session_id", "=", move.sessionId)
    .where("status", "=", pending)
    .where("kind", "=", agent)
    .executeTakeFirst();
  if (running !== undefined) return { outcome: "busy", runningTurnId: running.id };
  const headTurnId = session.head_turn_id;
  if (headTurnId !== move.from) return { outcome: "head_moved", headTurnId };
  const target = move.to === null ? null : await selectTurn(tx, dialect, move.to);
  const isMissing = target === null ? move.to !== null : target.sessionId !== move.sessionId || !mayBeParent(target);
  if (isMissing) return { outcome: "missing" };

  await tx
    .updateTable("sessions")
    .set({ head_turn_id: move.to, updated_at: move.at })
    .where("id", "=", move.sessionId)
    .execute();
  await tx
    .insertInto("head_moves")
    .values({
      session_id: move.sessionId,
      move: sql<number>`(select coalesce(max(move), 0) + 1 from head_moves where session_id = ${move.sessionId})`,
      from_turn_id: move.from,
      to_turn_id: move.to ?? noTurnId,
      user_id: move.userId,
      moved_at: move.at,
    })
    .execute();
  return { outcome: "moved" };
}

function rowToMove(row: HeadMoveRow): HeadMove {
  return {
    sessionId: row.session_id,
    from: row.from_turn_id,
    to: row.to_turn_id === noTurnId ? null : row.to_turn_id,
    userId: row.user_id,
    at: row.moved_at,
  };
}
