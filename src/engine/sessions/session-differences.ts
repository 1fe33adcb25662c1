/** Compares the newest sessions of a caller with those of the last look. Pure. */
import type { Session } from "../../domain/session.ts";
import type { TurnStatus } from "../../domain/turn.ts";
import type { SessionChangeKind } from "../../domain/session-news.ts";

/** What is remembered of a session between two looks. */
type Known = Pick<
  Session,
  "id" | "name" | "headTurnId" | "lastSequence" | "lastTurnStatus" | "updatedAt" | "activeAt" | "archivedAt"
>;

/** The newest sessions, newest activity first. `isWhole`: the caller has no others. */
export interface SeenSessions {
  sessions: readonly Known[];
  isWhole: boolean;
}

export interface SessionDifference {
  sessionId: string;
  what: SessionChangeKind;
}

export function seenSessions(sessions: readonly Session[], isWhole: boolean): SeenSessions {
  const known = sessions.map(
    ({ id, name, headTurnId, lastSequence, lastTurnStatus, updatedAt, activeAt, archivedAt }): Known => ({
      ...{ id, name, headTurnId, lastSequence, lastTurnStatus, updatedAt, activeAt, archivedAt },
    }),
  );
  return { sessions: known, isWhole };
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

function arrived(session: Known, before: SeenSessions): SessionChangeKind | null {
  if (!isWithin(session, before)) return null;
  return session.lastSequence === 0 ? "created" : ofTurn(session.lastTurnStatus);
}

/** Returns true if the list would have the session, were it there: it is as new as the last one of the list. */
function isWithin({ activeAt, id }: Known, { sessions, isWhole }: SeenSessions): boolean {
  const last = sessions.at(-1);
  if (isWhole || last === undefined) return true;
  return activeAt > last.activeAt || (activeAt === last.activeAt && id > last.id);
}

function changeOf(before: Known, now: Known): SessionChangeKind | null {
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
