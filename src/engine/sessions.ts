/** Sessions as the caller may see and change them (S1–S5, S7). */
import { operatorId, type Caller } from "../domain/caller.ts";
import { AptoveError } from "../domain/errors.ts";
import { isId, newId } from "../domain/ids.ts";
import { sessionKey, type Session, type SessionPatch } from "../domain/session.ts";
import { mayBeParent, type Turn, type TurnKind } from "../domain/turn.ts";
import type { SessionPage } from "../records/record-store.ts";
import { resolveContexts, settingsOf } from "./accept.ts";
import { knownContexts } from "./known-contexts.ts";
import { limits } from "../domain/limits.ts";
import { pageLimit, scopeOf, workspaceFor } from "./access.ts";
import type { Mailbox, MailboxRequest, SessionListRequest, SessionStart } from "./engine.ts";
import type { EngineParts } from "./parts.ts";

/** What the caller owns, takes part in, or is public in the org; of a device, in its workspace. Anything else is `not_found` (H4, P3). */
export async function visibleSession(parts: EngineParts, caller: Caller, id: string): Promise<Session> {
  const session = isId(id) ? await parts.records.getSession(id) : null;
  if (session?.deletedAt === null && (await maySee(parts, caller, session))) return session;
  throw new AptoveError("not_found", `there is no session ${JSON.stringify(id)}`);
}

/** Whatever became of the session since. */
export async function maySee({ records }: EngineParts, caller: Caller, session: Session): Promise<boolean> {
  if (session.orgId !== caller.orgId) return false;
  if (caller.workspaceId !== undefined && caller.workspaceId !== session.workspaceId) return false;
  return session.isPublic || session.userId === caller.userId || (await records.tookPart(session.id, caller.userId));
}

export async function visibleTurn(parts: EngineParts, caller: Caller, id: string): Promise<Turn> {
  const turn = isId(id) ? await parts.records.getTurn(id) : null;
  const session = turn === null ? null : await parts.records.getSession(turn.sessionId);
  if (turn !== null && session?.deletedAt === null && (await maySee(parts, caller, session))) return turn;
  // The same for one that is not there and for one that is hidden: not even its session's id is told.
  throw new AptoveError("not_found", `there is no turn ${JSON.stringify(id)}`);
}

/** A session that the caller may rename, share, put away and delete: its owner, or an admin who may see it (H4). */
export async function changeableSession(parts: EngineParts, caller: Caller, id: string): Promise<Session> {
  mayWrite(caller);
  const session = await visibleSession(parts, caller, id);
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
export async function continuableSession(parts: EngineParts, caller: Caller, id: string): Promise<Session> {
  mayWrite(caller);
  const session = await visibleSession(parts, caller, id);
  if (await mayContinue(parts, caller, session)) return session;
  throw new AptoveError("forbidden", "the session is somebody else's; fork it, or ask its owner to invite you");
}

/** Of a session that the caller may see. */
export async function mayContinue({ records }: EngineParts, caller: Caller, session: Session): Promise<boolean> {
  return session.userId === caller.userId || (await records.tookPart(session.id, caller.userId));
}

interface BlankSession {
  id: string;
  caller: Caller;
  now: number;
  start: SessionStart & { name: string; agentContextId: string; conversationContextId: string };
  nameIsSet: boolean;
  originTurnId: string | null;
}

/** S3: owned by the caller, whatever a body says. */
export function blankSession({ id, caller, now, start, nameIsSet, originTurnId }: BlankSession): Session {
  return {
    id,
    orgId: caller.orgId,
    userId: caller.userId,
    name: start.name,
    nameIsSet,
    key: start.key ?? sessionKey(start.name),
    description: start.description ?? "",
    labels: start.labels ?? [],
    isPublic: start.isPublic ?? false,
    category: start.category ?? null,
    rating: null,
    agentContextId: start.agentContextId,
    conversationContextId: start.conversationContextId,
    workspaceId: start.workspaceId ?? null,
    repo: start.repo ?? null,
    defaultLanguage: start.defaultLanguage ?? null,
    metadata: start.metadata ?? {},
    originTurnId,
    headTurnId: null,
    lastSequence: 0,
    lastTurnStatus: null,
    lastTurnAt: null,
    tokensTotal: 0,
    costUsd: 0,
    createdAt: now,
    updatedAt: now,
    activeAt: now,
    archivedAt: null,
    deletedAt: null,
  };
}

/** A session without a turn; with `forkOf` below a finished turn of any session that the caller may read (T6, K1). */
export async function createSession(parts: EngineParts, caller: Caller, start: SessionStart): Promise<Session> {
  mayWrite(caller);
  const origin = start.forkOf === undefined ? null : await forkOrigin(parts, caller, start.forkOf);
  const from = origin?.session ?? null;
  const name = start.name ?? from?.name ?? "Untitled";
  const workspaceId = workspaceFor(caller, start.workspaceId ?? from?.workspaceId);
  const settings = await settingsOf(parts, caller, workspaceId);
  const known = await knownContexts(parts, caller, settings);
  const { agentContext, conversationContext } = resolveContexts(known, start, from);
  const repo = start.repo ?? from?.repo;
  const defaultLanguage = start.defaultLanguage ?? from?.defaultLanguage;
  const session = blankSession({
    id: newId(),
    caller,
    now: parts.now(),
    start: {
      ...start,
      name,
      agentContextId: agentContext.id,
      conversationContextId: conversationContext.id,
      ...(workspaceId !== null && { workspaceId }),
      ...(repo != null && { repo }),
      ...(defaultLanguage != null && { defaultLanguage }),
    },
    nameIsSet: start.name !== undefined || from?.nameIsSet === true,
    originTurnId: origin?.turn.id ?? null,
  });
  await parts.records.insertSession(session);
  return session;
}

async function forkOrigin(
  parts: EngineParts,
  caller: Caller,
  turnId: string,
): Promise<{ turn: Turn; session: Session }> {
  const turn = await visibleTurn(parts, caller, turnId);
  if (!mayBeParent(turn)) {
    throw new AptoveError("turn_not_continuable", `turn ${turn.id} is ${turn.status}; fork a completed one`, {
      facts: { turnId: turn.id, status: turn.status },
    });
  }
  return { turn, session: await visibleSession(parts, caller, turn.sessionId) };
}

export async function updateSession(
  parts: EngineParts,
  caller: Caller,
  { id, patch }: { id: string; patch: SessionPatch },
): Promise<Session> {
  await changeableSession(parts, caller, id);
  const updated = await parts.records.updateSession(id, patch, parts.now());
  if (updated === null) throw new AptoveError("not_found", `there is no session "${id}"`);
  return updated;
}

export async function listSessions(parts: EngineParts, caller: Caller, page: SessionListRequest): Promise<SessionPage> {
  const { workspaceId } = caller;
  const isElsewhere = workspaceId !== undefined && page.workspaceId !== undefined && page.workspaceId !== workspaceId;
  if (isElsewhere) return { sessions: [], next: null };
  return await parts.records.listSessions({ ...page, ...scopeOf(caller), limit: pageLimit(page.limit) });
}

export async function listTurns(
  parts: EngineParts,
  caller: Caller,
  { sessionId, limit, ...page }: TurnPage,
): Promise<Turn[]> {
  await visibleSession(parts, caller, sessionId);
  return await parts.records.listTurns(sessionId, { ...page, limit: pageLimit(limit) });
}

interface TurnPage {
  sessionId: string;
  before?: number;
  limit?: number;
  kind?: TurnKind;
}

/** What a session's subagents left, and which of them run. */
export async function readMailbox(
  parts: EngineParts,
  caller: Caller,
  { sessionId, limit, ...page }: MailboxRequest & { sessionId: string },
): Promise<Mailbox> {
  await visibleSession(parts, caller, sessionId);
  const messages = await parts.records.listMailbox(sessionId, { ...page, limit: pageLimit(limit) });
  const turns = await parts.records.subagentTurns(sessionId, { limit: limits.subagentTurnsPerSessionMax });
  const runningTurnIds = turns.flatMap(({ id, status }) => (status === "pending" ? [id] : []));
  return { messages, runningTurnIds };
}

export function mayWrite(caller: Caller): void {
  if (caller.userId === operatorId)
    throw new AptoveError("forbidden", "the operator has no sessions; use a person's key");
  if (caller.role === "reader")
    throw new AptoveError("forbidden", "a reader may not change anything; ask an admin of the org for another role");
}
