/** Sessions in memory. */
import type { Session } from "../../domain/session.ts";
import type { RecordStore, SessionCursor, SessionPage, SessionQuery } from "../record-store.ts";
import { insert, type Rows } from "./rows.ts";
import { tookPart } from "./turns.ts";

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

export function sessionRecords(rows: Rows): SessionRecords {
  return {
    async insertSession(session) {
      insert(rows.sessions, session.id, session);
    },
    async getSession(id) {
      return rows.sessions.get(id) ?? null;
    },
    async updateSession(id, patch, at) {
      const session = rows.sessions.get(id);
      if (session === undefined) return null;
      const nameIsSet = session.nameIsSet || patch.name !== undefined;
      const updated = { ...session, ...patch, nameIsSet, updatedAt: at };
      rows.sessions.set(id, updated);
      return updated;
    },
    async nameSession(id, name) {
      const session = rows.sessions.get(id);
      if (session?.nameIsSet === false) rows.sessions.set(id, { ...session, name });
    },
    async listSessions(query) {
      return listSessions(rows, query);
    },
    async markSession(id, marks, at) {
      const session = rows.sessions.get(id);
      if (session === undefined) return null;
      const marked = { ...session, ...marks, updatedAt: at };
      rows.sessions.set(id, marked);
      return marked;
    },
    async listDeletedSessions({ orgId, userId, workspaceId, limit }) {
      const own = [...rows.sessions.values()].filter(
        (session) => session.orgId === orgId && session.userId === userId && session.deletedAt !== null,
      );
      const deleted = own.filter((session) => workspaceId === undefined || session.workspaceId === workspaceId);
      return deleted.toSorted(latestDeletionFirst).slice(0, limit);
    },
  };
}

function listSessions(rows: Rows, query: SessionQuery): SessionPage {
  const { limit, after } = query;
  const found = [...rows.sessions.values()]
    .filter((session) => isVisible(rows, session, query) && matches(session, query))
    .filter((session) => after === undefined || newestFirst(after, session) < 0)
    .toSorted(newestFirst);
  const sessions = found.slice(0, limit);
  const last = sessions.at(-1);
  const next = found.length > limit && last !== undefined ? { activeAt: last.activeAt, id: last.id } : null;
  return { sessions, next };
}

/** S7. */
export function isVisible(
  rows: Rows,
  session: Session,
  { orgId, userId }: Pick<SessionQuery, "orgId" | "userId">,
): boolean {
  if (session.orgId !== orgId || session.deletedAt !== null) return false;
  return session.userId === userId || session.isPublic || tookPart(rows, session.id, userId);
}

function matches(session: Session, { archived, repo, workspaceId, ownerId }: SessionQuery): boolean {
  if (ownerId !== undefined && ownerId !== session.userId) return false;
  if (archived !== undefined && archived !== (session.archivedAt !== null)) return false;
  if (repo !== undefined && repo !== session.repo) return false;
  return workspaceId === undefined || workspaceId === session.workspaceId;
}

export function newestFirst(a: SessionCursor, b: SessionCursor): number {
  if (a.activeAt !== b.activeAt) return b.activeAt - a.activeAt;
  if (a.id === b.id) return 0;
  return a.id > b.id ? -1 : 1;
}

function latestDeletionFirst(a: Session, b: Session): number {
  return newestFirst({ activeAt: a.deletedAt ?? 0, id: a.id }, { activeAt: b.deletedAt ?? 0, id: b.id });
}
