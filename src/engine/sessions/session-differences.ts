/** Compares the newest sessions of a caller with those of the last look. Pure. */
import type { Session } from "../../domain/session.ts";
import type { TurnStatus } from "../../domain/turn.ts";
import type { SessionChangeKind } from "../../domain/session-news.ts";

/** What is remembered of a session between two looks. */
export type SeenSession = Pick<
  Session,
  "id" | "name" | "headTurnId" | "lastSequence" | "lastTurnStatus" | "updatedAt" | "activeAt" | "archivedAt"
>;

/** The newest sessions, newest activity first. `isWhole`: the caller has no others. */
export interface SeenSessions {
  sessions: readonly SeenSession[];
  isWhole: boolean;
}

export interface SessionDifference {
  sessionId: string;
  what: SessionChangeKind;
}

export function seenSessions(sessions: readonly Session[], isWhole: boolean): SeenSessions {
  return { sessions: sessions.map(seenSession), isWhole };
}

export function seenSession(session: Session): SeenSession {
  const { id, name, headTurnId, lastSequence, lastTurnStatus, updatedAt, activeAt, archivedAt } = session;
  return { id, name, headTurnId, lastSequence, lastTurnStatus, updatedAt, activeAt, archivedAt };
}

/**
 * Returns the sessions that differ. A session that moves up because a newer one went away has not changed, and one that newer ones
 * pushed out is not gone.
 */
export function differences(before: SeenSessions, now: SeenSessions): SessionDifference[] {
  const earlier = new Map(before.sessions.map((session) => [session.id, session]));
  const found: SessionDifference[] = [];
  for (const session of now.sessions) {
    const known = earlier.get(session.id);
    earlier.delete(session.id);
    const what = known === undefined ? arrived(session, before) : changeOf(known, session);
    if (what !== null) found.push({ sessionId: session.id, what });
  }
  for (const session of earlier.values()) {
    if (isWithin(session, now)) found.push({ sessionId: session.id, what: "gone" });
  }
  return found;
}

/** Returns which of the sessions differ that are looked at by their ids. One that was not looked at before has not changed. */
export function openedDifferences(
  before: ReadonlyMap<string, SeenSession | null>,
  now: ReadonlyMap<string, SeenSession | null>,
): SessionDifference[] {
  return [...now].flatMap(([sessionId, session]) => {
    const known = before.get(sessionId);
    const what = known === undefined ? null : differenceOf(known, session);
    return what === null ? [] : [{ sessionId, what }];
  });
}

function differenceOf(before: SeenSession | null, now: SeenSession | null): SessionChangeKind | null {
  if (before === null) return now === null ? null : "changed";
  return now === null ? "gone" : changeOf(before, now);
}

function arrived(session: SeenSession, before: SeenSessions): SessionChangeKind | null {
  if (!isWithin(session, before)) return null;
  return session.lastSequence === 0 ? "created" : ofTurn(session.lastTurnStatus);
}

/** Returns true if the list would have the session, were it there: it is as new as the last one of the list. */
function isWithin({ activeAt, id }: SeenSession, { sessions, isWhole }: SeenSessions): boolean {
  const last = sessions.at(-1);
  if (isWhole || last === undefined) return true;
  return activeAt > last.activeAt || (activeAt === last.activeAt && id > last.id);
}

function changeOf(before: SeenSession, now: SeenSession): SessionChangeKind | null {
  if (before.lastSequence !== now.lastSequence || before.lastTurnStatus !== now.lastTurnStatus)
    return ofTurn(now.lastTurnStatus);
  if ((before.archivedAt === null) !== (now.archivedAt === null))
    return now.archivedAt === null ? "unarchived" : "archived";
  if (before.name !== now.name) return "renamed";
  const isSame =
    before.headTurnId === now.headTurnId && before.updatedAt === now.updatedAt && before.activeAt === now.activeAt;
  return isSame ? null : "changed";
}

function ofTurn(status: TurnStatus | null): SessionChangeKind {
  switch (status) {
    case "pending":
      return "began";
    case "completed":
      return "ended";
    case "awaiting_tool_results":
      return "waits";
    case "failed":
      return "failed";
    default:
      return "changed";
  }
}
