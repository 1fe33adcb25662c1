/** Which sessions and turns a caller may see, change and continue (H4, S7, P3). */
import { operatorId, type Caller } from "../../domain/caller.ts";
import { AptoveError } from "../../domain/errors.ts";
import { isId } from "../../domain/ids.ts";
import type { Session } from "../../domain/session.ts";
import type { Turn } from "../../domain/turn.ts";
import type { EngineDependencies } from "../dependencies.ts";

/** What the caller owns, takes part in, or is public in the org; of a device, in its workspace. Anything else is `not_found` (H4, P3). */
export async function visibleSession(deps: EngineDependencies, caller: Caller, id: string): Promise<Session> {
  const session = isId(id) ? await deps.records.sessions.get(id) : null;
  if (session?.deletedAt === null && (await maySee(deps, caller, session))) return session;
  throw new AptoveError("not_found", `there is no session ${JSON.stringify(id)}`);
}

/** Whatever became of the session since. */
export async function maySee({ records }: EngineDependencies, caller: Caller, session: Session): Promise<boolean> {
  if (session.orgId !== caller.orgId) return false;
  if (caller.workspaceId !== undefined && caller.workspaceId !== session.workspaceId) return false;
  return (
    session.isPublic ||
    session.userId === caller.userId ||
    (await records.sessions.isParticipant(session.id, caller.userId))
  );
}

export async function visibleTurn(deps: EngineDependencies, caller: Caller, id: string): Promise<Turn> {
  const turn = isId(id) ? await deps.records.turns.get(id) : null;
  const session = turn === null ? null : await deps.records.sessions.get(turn.sessionId);
  if (turn !== null && session?.deletedAt === null && (await maySee(deps, caller, session))) return turn;
  // The same for one that is not there and for one that is hidden: not even its session's id is told.
  throw new AptoveError("not_found", `there is no turn ${JSON.stringify(id)}`);
}

/** A session that the caller may rename, share, put away and delete: its owner, or an admin who may see it (H4). */
export async function changeableSession(deps: EngineDependencies, caller: Caller, id: string): Promise<Session> {
  mayWrite(caller);
  const session = await visibleSession(deps, caller, id);
  if (isTheirs(caller, session)) return session;
  throw new AptoveError(
    "forbidden",
    "only its owner or an admin may change a session; fork it to have one of your own",
  );
}

/** Of a session that the caller may see. */
export function isTheirs(caller: Caller, session: Session): boolean {
  return session.userId === caller.userId || caller.role === "admin";
}

/** A session in which the caller may run turns and steer them: its owner, and who takes part in it (S7, H4). */
export async function continuableSession(deps: EngineDependencies, caller: Caller, id: string): Promise<Session> {
  mayWrite(caller);
  const session = await visibleSession(deps, caller, id);
  if (await mayContinue(deps, caller, session)) return session;
  throw new AptoveError("forbidden", "the session is somebody else's; fork it, or ask its owner to invite you");
}

/** Of a session that the caller may see. */
export async function mayContinue({ records }: EngineDependencies, caller: Caller, session: Session): Promise<boolean> {
  return session.userId === caller.userId || (await records.sessions.isParticipant(session.id, caller.userId));
}

export function mayWrite(caller: Caller): void {
  if (caller.userId === operatorId)
    throw new AptoveError("forbidden", "the operator has no sessions; use a person's key");
  if (caller.role === "reader")
    throw new AptoveError("forbidden", "a reader may not change anything; ask an admin of the org for another role");
}
