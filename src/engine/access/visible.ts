/** Which sessions and turns a caller may see, change and continue (H4, S7, P3). */
import { operatorId, type Caller } from "../../domain/caller.ts";
import { AptoveError } from "../../domain/errors.ts";
import { isId } from "../../domain/ids.ts";
import type { Session } from "../../domain/session.ts";
import type { Turn } from "../../domain/turn.ts";
import type { SessionWithHead } from "../../records/sessions.ts";
import type { EngineDependencies } from "../dependencies.ts";

/**
 * Returns a session that the caller may see: their own, one that they take part in, or a public one of their org. A
 * device sees only the sessions of its workspace. Throws `not_found` for any other (H4, P3).
 */
export async function visibleSession(deps: EngineDependencies, caller: Caller, id: string): Promise<Session> {
  return await seen(deps, caller, { id, session: isId(id) ? await deps.records.sessions.get(id) : null });
}

/** Returns the session if the caller may see it. Throws `not_found`. */
async function seen(
  deps: EngineDependencies,
  caller: Caller,
  { id, session }: { id: string; session: Session | null },
): Promise<Session> {
  if (session?.deletedAt === null && (await maySee(deps, caller, session))) return session;
  throw new AptoveError("not_found", `there is no session ${JSON.stringify(id)}`);
}

/** Returns true if the caller may see the session. It may be archived or removed. */
export async function maySee({ records }: EngineDependencies, caller: Caller, session: Session): Promise<boolean> {
  if (session.orgId !== caller.orgId) return false;
  if (caller.workspaceId !== undefined && caller.workspaceId !== session.workspaceId) return false;
  if (session.userId === caller.userId) return true;
  return !session.isDraft && (session.isPublic || (await records.sessions.isParticipant(session.id, caller.userId)));
}

/** Returns a turn of a session that the caller may see. Throws `not_found`. */
export async function visibleTurn(deps: EngineDependencies, caller: Caller, id: string): Promise<Turn> {
  return (await visibleTurnAndSession(deps, caller, id)).turn;
}

/** Returns the same, with the session. */
export async function visibleTurnAndSession(
  deps: EngineDependencies,
  caller: Caller,
  id: string,
): Promise<{ turn: Turn; session: Session }> {
  const turn = isId(id) ? await deps.records.turns.get(id) : null;
  const session = turn === null ? null : await deps.records.sessions.get(turn.sessionId);
  if (turn !== null && session?.deletedAt === null && (await maySee(deps, caller, session))) return { turn, session };
  // A turn that is hidden and a turn that does not exist give the same error, which does not reveal the session's id.
  throw new AptoveError("not_found", `there is no turn ${JSON.stringify(id)}`);
}

/**
 * Returns a session that the caller may rename, share, archive and delete: the owner may, and an admin who may see it
 * (H4). Throws `not_found`, `forbidden`.
 */
export async function changeableSession(deps: EngineDependencies, caller: Caller, id: string): Promise<Session> {
  mayWrite(caller);
  const session = await visibleSession(deps, caller, id);
  if (isTheirs(caller, session)) return session;
  throw new AptoveError("forbidden", "only its owner or an admin may change a session; fork it to get your own");
}

/** Returns true if the caller may change a session that they may see. */
export function isTheirs(caller: Caller, session: Session): boolean {
  return session.userId === caller.userId || caller.role === "admin";
}

/**
 * Returns a session in which the caller may run and steer turns: the owner may, and those who take part in it (S7, H4).
 * Throws `not_found`, `forbidden`.
 */
export async function continuableSession(deps: EngineDependencies, caller: Caller, id: string): Promise<Session> {
  mayWrite(caller);
  return await continuable(deps, caller, await visibleSession(deps, caller, id));
}

/** Returns the same, with the turn that the session's next turn follows. Null: there is no such turn. What is known is not read. */
export async function continuableWithHead(
  deps: EngineDependencies,
  caller: Caller,
  { id, known }: { id: string; known: SessionWithHead | null },
): Promise<SessionWithHead> {
  mayWrite(caller);
  const found = known ?? (isId(id) ? await deps.records.sessions.getWithHead(id) : null);
  const session = await seen(deps, caller, { id, session: found?.session ?? null });
  return { session: await continuable(deps, caller, session), head: found?.head ?? null };
}

async function continuable(deps: EngineDependencies, caller: Caller, session: Session): Promise<Session> {
  if (await mayContinue(deps, caller, session)) return session;
  throw new AptoveError("forbidden", "the session belongs to another user; fork it, or ask its owner to invite you");
}

/** Returns true if the caller may run turns in a session that they may see. */
export async function mayContinue({ records }: EngineDependencies, caller: Caller, session: Session): Promise<boolean> {
  return session.userId === caller.userId || (await records.sessions.isParticipant(session.id, caller.userId));
}

/** Throws `forbidden` for a reader, and for the operator, who has no sessions. */
export function mayWrite(caller: Caller): void {
  if (caller.userId === operatorId)
    throw new AptoveError("forbidden", "the operator has no sessions; use a person's key");
  if (caller.role === "reader")
    throw new AptoveError("forbidden", "a reader may not change anything; ask an admin of the org for another role");
}
