/** Makes a new session, for its first turn or for its caller (S1, S3). */
import { oneLine } from "../../domain/one-line.ts";
import { sessionKey, type Session, type StandingChoice } from "../../domain/session.ts";
import type { Pin } from "../../domain/pin.ts";
import type { TurnName } from "../../domain/turn-name.ts";
import type { Caller } from "../../domain/caller.ts";
import type { SessionStart } from "../engine.ts";

interface BlankSession {
  id: string;
  caller: Caller;
  now: number;
  start: Omit<SessionStart, keyof StandingChoice> & { name: string };
  choice: StandingChoice;
  nameIsSet: boolean;
  originTurnId: string | null;
  /** The pins of the history that the session continues. */
  pins: Pin[];
  /** The names that turns of this history have. */
  turnNames: TurnName[];
}

/** Returns a new session. It is owned by the caller, whatever the body of the request contains (S3). */
export function blankSession({
  id,
  caller,
  now,
  start,
  choice,
  nameIsSet,
  originTurnId,
  pins,
  turnNames,
}: BlankSession): Session {
  return {
    id,
    orgId: caller.orgId,
    userId: caller.userId,
    name: oneLine(start.name),
    nameIsSet,
    key: start.key ?? sessionKey(start.name),
    description: start.description ?? "",
    labels: start.labels ?? [],
    isPublic: start.isPublic ?? false,
    isDraft: start.isDraft ?? false,
    category: start.category ?? null,
    rating: null,
    agentContextId: choice.agentContextId,
    conversationContextId: choice.conversationContextId,
    model: choice.model,
    settings: choice.settings,
    workspaceId: start.workspaceId ?? null,
    repo: start.repo ?? null,
    otherRepos: start.otherRepos ?? [],
    defaultLanguage: start.defaultLanguage ?? null,
    metadata: start.metadata ?? {},
    pins,
    turnNames,
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
