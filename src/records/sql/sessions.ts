/** Sessions in SQL: what people change of them, and the lists. What turns change is in turns.ts. */
import type { ExpressionBuilder, Kysely } from "kysely";
import type { SessionPatch } from "../../domain/session.ts";
import type { RecordStore, SessionPage, SessionQuery } from "../record-store.ts";
import { AptoveError } from "../../domain/errors.ts";
import { rowToSession, sessionToRow } from "./rows/session-row.ts";
import type { SessionRow, Tables } from "./tables.ts";

type SessionRecords = Pick<
  RecordStore,
  | "insertSession"
  | "getSession"
  | "updateSession"
  | "nameSession"
  | "listSessions"
  | "markSession"
  | "listDeletedSessions"
>;

/** Each lost race means that another writer got through, so this many in a row mean that something is wrong. */
const patchAttemptsMax = 50;

export function sessionRecords(db: Kysely<Tables>): SessionRecords {
  return {
    async insertSession(session) {
      await db.insertInto("sessions").values(sessionToRow(session)).execute();
    },
    async getSession(id) {
      const row = await db.selectFrom("sessions").selectAll().where("id", "=", id).executeTakeFirst();
      return row === undefined ? null : rowToSession(row);
    },
    async updateSession(id, patch, at) {
      for (let attempt = 0; attempt < patchAttemptsMax; attempt += 1) {
        const row = await db.selectFrom("sessions").selectAll().where("id", "=", id).executeTakeFirst();
        if (row === undefined) return null;
        const { doc, is_public, folded_name } = sessionToRow({ ...rowToSession(row), ...setByHand(patch) });
        // The document is replaced only where it is still the one that was read: no patch undoes another.
        const updated = await db
          .updateTable("sessions")
          .set({ doc, is_public, folded_name, updated_at: at })
          .where("id", "=", id)
          .where("doc", "=", row.doc)
          .where("is_public", "=", row.is_public)
          .returningAll()
          .executeTakeFirst();
        if (updated !== undefined) return rowToSession(updated);
      }
      throw new AptoveError("storage_failed", `session ${id} was changed by others at every attempt to change it`);
    },
    async nameSession(id, name) {
      const row = await db.selectFrom("sessions").selectAll().where("id", "=", id).executeTakeFirst();
      if (row === undefined || rowToSession(row).nameIsSet) return;
      const { doc, folded_name } = sessionToRow({ ...rowToSession(row), name });
      // A document that changed since has a name that somebody set, or another field: then the name is left as it is.
      await db
        .updateTable("sessions")
        .set({ doc, folded_name })
        .where("id", "=", id)
        .where("doc", "=", row.doc)
        .execute();
    },
    listSessions: (query) => listSessions(db, query),
    async markSession(id, { archivedAt, deletedAt }, at) {
      const row = await db
        .updateTable("sessions")
        .set({
          updated_at: at,
          ...(archivedAt !== undefined && { archived_at: archivedAt }),
          ...(deletedAt !== undefined && { deleted_at: deletedAt }),
        })
        .where("id", "=", id)
        .returningAll()
        .executeTakeFirst();
      return row === undefined ? null : rowToSession(row);
    },
    async listDeletedSessions({ orgId, userId, workspaceId, limit }) {
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
  };
}

/** S2: a name that somebody sets is kept from the program. */
function setByHand(patch: SessionPatch): SessionPatch & { nameIsSet?: true } {
  return patch.name === undefined ? patch : { ...patch, nameIsSet: true };
}

/** S7: what the user may find in lists and by search, of the sessions that the query calls `s`. */
export function isVisible({
  orgId,
  userId,
  workspaceId,
}: {
  orgId: string;
  userId: string;
  workspaceId?: string | undefined;
}) {
  return (eb: ExpressionBuilder<Tables & { s: SessionRow }, "s">) =>
    eb.and([
      ...(workspaceId === undefined ? [] : [eb("s.workspace_id", "=", workspaceId)]),
      eb("s.org_id", "=", orgId),
      eb("s.deleted_at", "is", null),
      eb.or([
        eb("s.user_id", "=", userId),
        eb("s.is_public", "=", 1),
        eb.exists(
          eb
            .selectFrom("participants as p")
            .select("p.user_id")
            .whereRef("p.session_id", "=", "s.id")
            .where("p.user_id", "=", userId),
        ),
      ]),
    ]);
}

async function listSessions(db: Kysely<Tables>, query: SessionQuery): Promise<SessionPage> {
  const { orgId, userId, limit, after, archived, repo, workspaceId, ownerId } = query;
  let select = db
    .selectFrom("sessions as s")
    .selectAll("s")
    .where(isVisible({ orgId, userId, workspaceId }))
    .orderBy("s.active_at", "desc")
    .orderBy("s.id", "desc")
    // One more than the page, to know whether there is another.
    .limit(limit + 1);
  if (after !== undefined) {
    select = select.where(({ eb, refTuple, tuple }) =>
      eb(refTuple("s.active_at", "s.id"), "<", tuple(after.activeAt, after.id)),
    );
  }
  if (archived !== undefined) select = select.where("s.archived_at", archived ? "is not" : "is", null);
  if (ownerId !== undefined) select = select.where("s.user_id", "=", ownerId);
  if (repo !== undefined) select = select.where("s.repo", "=", repo);

  const rows = await select.execute();
  const page = rows.slice(0, limit);
  const last = page.at(-1);
  const next = rows.length > limit && last !== undefined ? { activeAt: last.active_at, id: last.id } : null;
  return { sessions: page.map(rowToSession), next };
}
