/** Sessions in memory, and the tree of their turns. */
import type { Session } from "../../domain/session.ts";
import { mayBeParent, type Turn } from "../../domain/turn.ts";
import { changedSession } from "../changed-session.ts";
import { matchesDocument } from "../session-filter.ts";
import type {
  ForkQuery,
  HeadMove,
  MoveResult,
  SessionCursor,
  SessionFilter,
  SessionPage,
  SessionQuery,
  SessionRecords,
  TurnForks,
} from "../sessions.ts";
import { insert, isParticipant, pairKey, runningTurn, type Rows } from "./rows.ts";

export function sessionRecords(rows: Rows): SessionRecords {
  return {
    async insert(session) {
      insert(rows.sessions, session.id, session);
    },
    async get(id) {
      return rows.sessions.get(id) ?? null;
    },
    async getWithHead(id) {
      const session = rows.sessions.get(id);
      if (session === undefined) return null;
      return { session, head: rows.turns.get(session.headTurnId ?? session.originTurnId ?? "") ?? null };
    },
    async update(id, change, at) {
      const session = rows.sessions.get(id);
      if (session === undefined) return null;
      const updated = { ...changedSession(session, change), updatedAt: at ?? session.updatedAt };
      rows.sessions.set(id, updated);
      return updated;
    },
    async list(query) {
      return listSessions(rows, query);
    },
    async count(query) {
      return matching(rows, query).length;
    },
    async listDeleted({ orgId, userId, workspaceId, limit }) {
      const own = [...rows.sessions.values()].filter(
        (session) => session.orgId === orgId && session.userId === userId && session.deletedAt !== null,
      );
      const deleted = own.filter((session) => workspaceId === undefined || session.workspaceId === workspaceId);
      return deleted.toSorted(latestDeletionFirst).slice(0, limit);
    },
    async isParticipant(sessionId, userId) {
      return isParticipant(rows, sessionId, userId);
    },
    async listParticipants(sessionId) {
      const all = [...rows.participants.values()].filter((one) => one.sessionId === sessionId);
      return all.map(({ userId }) => userId).toSorted();
    },
    async changeParticipants(sessionId, { invited, dismissed }) {
      if (!rows.sessions.has(sessionId)) return;
      for (const userId of invited) rows.participants.set(pairKey(sessionId, userId), { sessionId, userId });
      for (const userId of dismissed) rows.participants.delete(pairKey(sessionId, userId));
    },
    async moveHead(move) {
      return moveHead(rows, move);
    },
    async listHeadMoves(sessionId) {
      return movesOf(rows, sessionId);
    },
    async listForks(query) {
      return listForks(rows, query);
    },
  };
}

function matching(rows: Rows, query: Omit<SessionQuery, "limit" | "after">): Session[] {
  return [...rows.sessions.values()].filter(
    (session) =>
      isVisible(rows, session, query) &&
      matches(rows, session, query) &&
      (query.isRoot === undefined || isRoot(rows, session, query)),
  );
}

function listForks(rows: Rows, { below, perTurnMax, ...query }: ForkQuery): TurnForks[] {
  const isWanted = ({ id, sessionId }: Turn): boolean =>
    "turnIds" in below ? below.turnIds.includes(id) : below.sessionIds.includes(sessionId);
  const visible = matching(rows, query).toSorted(newestFirst);
  const forks = Map.groupBy(visible, ({ originTurnId }) => originTurnId ?? "");
  return [...rows.turns.values()]
    .filter((turn) => forks.has(turn.id) && isWanted(turn))
    .toSorted((a, b) => (a.id < b.id ? -1 : 1))
    .flatMap(({ id, sessionId, sequence, depth }) => {
      const all = (forks.get(id) ?? []).filter((session) => session.id !== sessionId);
      if (all.length === 0) return [];
      return { turnId: id, sessionId, sequence, depth, count: all.length, newest: all.slice(0, perTurnMax) };
    });
}

function listSessions(rows: Rows, query: SessionQuery): SessionPage {
  const { limit, after } = query;
  const found = matching(rows, query)
    .filter((session) => after === undefined || newestFirst(after, session) < 0)
    .toSorted(newestFirst);
  const sessions = found.slice(0, limit);
  const last = sessions.at(-1);
  const next = found.length > limit && last !== undefined ? { activeAt: last.activeAt, id: last.id } : null;
  return { sessions, next };
}

/** Returns whether lists and search show the session to the user (S7). */
export function isVisible(
  rows: Rows,
  session: Session,
  { orgId, userId }: Pick<SessionQuery, "orgId" | "userId">,
): boolean {
  if (session.orgId !== orgId || session.deletedAt !== null) return false;
  if (session.userId === userId) return true;
  return !session.isDraft && (session.isPublic || isParticipant(rows, session.id, userId));
}

/** Returns whether the session was forked from none that the user may see. */
function isRoot(rows: Rows, { id, originTurnId }: Session, query: Omit<SessionQuery, "limit" | "after">): boolean {
  const origin = rows.sessions.get(rows.turns.get(originTurnId ?? "")?.sessionId ?? "");
  if (origin === undefined || origin.id === id || !isVisible(rows, origin, query)) return true;
  return query.workspaceId !== undefined && query.workspaceId !== origin.workspaceId;
}

function matches(rows: Rows, session: Session, filter: SessionFilter): boolean {
  if (filter.forkOf !== undefined && filter.forkOf !== session.originTurnId) return false;
  const { archived, repo, workspaceId, memberId, status, activeFrom, activeUntil, tokensMin, tokensMax } = filter;
  if (memberId !== undefined && memberId !== session.userId && !isParticipant(rows, session.id, memberId)) return false;
  if (status !== undefined && status !== session.lastTurnStatus) return false;
  if (!isWithin(session.activeAt, activeFrom, activeUntil) || !isWithin(session.tokensTotal, tokensMin, tokensMax)) {
    return false;
  }
  if (!matchesDocument(session, filter)) return false;
  if (archived !== undefined && archived !== (session.archivedAt !== null)) return false;
  if (repo !== undefined && repo !== session.repo) return false;
  return workspaceId === undefined || workspaceId === session.workspaceId;
}

function isWithin(value: number, min = -Infinity, max = Infinity): boolean {
  return value >= min && value <= max;
}

export function newestFirst(a: SessionCursor, b: SessionCursor): number {
  if (a.activeAt !== b.activeAt) return b.activeAt - a.activeAt;
  if (a.id === b.id) return 0;
  return a.id > b.id ? -1 : 1;
}

function latestDeletionFirst(a: Session, b: Session): number {
  return newestFirst({ activeAt: a.deletedAt ?? 0, id: a.id }, { activeAt: b.deletedAt ?? 0, id: b.id });
}

function moveHead(rows: Rows, move: HeadMove): MoveResult {
  const session = rows.sessions.get(move.sessionId);
  if (session === undefined || session.deletedAt !== null) return { outcome: "missing" };
  if (session.archivedAt !== null) return { outcome: "archived" };
  const running = runningTurn(rows, session.id);
  if (running !== null) return { outcome: "busy", runningTurnId: running.id };
  const { headTurnId } = session;
  if (headTurnId !== move.from) return { outcome: "head_moved", headTurnId };
  const target = move.to === null ? null : rows.turns.get(move.to);
  if (target !== null && (target?.sessionId !== session.id || !mayBeParent(target))) return { outcome: "missing" };

  rows.sessions.set(session.id, { ...session, headTurnId: move.to, updatedAt: move.at });
  insert(rows.headMoves, pairKey(session.id, movesOf(rows, session.id).length + 1), move);
  return { outcome: "moved" };
}

function movesOf(rows: Rows, sessionId: string): HeadMove[] {
  return [...rows.headMoves.values()].filter((move) => move.sessionId === sessionId);
}
