/** Sessions, their tree and their mailbox, as a door sees them (S1, S5, S6, S7, S8, A2). */
import type { SessionCursor, SessionQuery, TextHit } from "../../records/record-store.ts";
import type { Turn } from "../../domain/turn.ts";
import type { TranscriptMessage } from "../../domain/transcript.ts";
import type { Session } from "../../domain/session.ts";
import type { MailboxMessage } from "../../domain/mailbox.ts";
import type { Caller } from "../../domain/caller.ts";

export interface SessionStart {
  name?: string;
  key?: string;
  description?: string;
  labels?: string[];
  isPublic?: boolean;
  category?: string;
  metadata?: Record<string, unknown>;
  agentContextId?: string;
  conversationContextId?: string;
  workspaceId?: string;
  repo?: string;
  defaultLanguage?: string;
  /** The session begins below this turn, and takes its contexts over where none are named (T6). */
  forkOf?: string;
}

export type SessionListRequest = Omit<SessionQuery, "orgId" | "userId" | "limit"> & {
  limit?: number;
  after?: SessionCursor;
};

/** `after`: a message's number, exclusive. `waiting`: only those that no turn has taken. */
export interface MailboxRequest {
  after?: number;
  waiting?: boolean;
  limit?: number;
}

export interface Mailbox {
  messages: MailboxMessage[];
  runningTurnIds: string[];
}

/** Sessions as a workspace has them: one after the other, each going on where the last one was (W3, W5). */
export interface WorkspaceSessions {
  /**
   * A new session of the workspace, below the head of the one that was used last there; `fresh`: empty. Where a person
   * edited the transcript, it begins with what the file says, as an imported turn. Throws `workspace_unknown`.
   */
  begin(
    caller: Caller,
    start: SessionStart & { workspaceId: string; fresh?: boolean },
  ): Promise<{ session: Session; warnings: string[] }>;
  /** A session whose one turn is a conversation that took place elsewhere (W5). */
  import(caller: Caller, start: SessionStart & { messages: readonly TranscriptMessage[] }): Promise<Session>;
}

/** What can be done with sessions beside running turns (S5, S6, S8, T6, K4). Only the owner or an admin may change them. */
export interface Tree {
  /** Moves the head from where the caller saw it to another continuable turn of the session; throws `head_moved`, `session_busy`, `turn_not_continuable`. */
  moveHead(caller: Caller, move: { sessionId: string; from: string | null; to: string }): Promise<Session>;
  archive(caller: Caller, sessionId: string): Promise<Session>;
  unarchive(caller: Caller, sessionId: string): Promise<Session>;
  /** Softly: gone from lists and reads, until it is restored or purged. */
  remove(caller: Caller, sessionId: string): Promise<Session>;
  restore(caller: Caller, sessionId: string): Promise<Session>;
  listRemoved(caller: Caller): Promise<Session[]>;
  /** For ever, of a removed session: its turns and their blobs go, but for what other sessions rest on. */
  purge(caller: Caller, sessionId: string): Promise<PurgeReport>;
  /** Blobs that no turn needs. `dryRun` gives the same list and deletes nothing. */
  collectGarbage(caller: Caller, options: { dryRun: boolean }): Promise<GarbageReport>;
  search(caller: Caller, query: { text: string; limit?: number }): Promise<TextHit[]>;
  /** The turns of a session with what is above and beside them: the lineage that it was forked from, and the forks of its turns. */
  graph(caller: Caller, sessionId: string): Promise<SessionGraph>;
}

export interface PurgeReport {
  turnsPurged: number;
  /** Turns that other sessions rest on. */
  turnsKept: number;
  blobsDeleted: number;
  bytesFreed: number;
}

export interface GarbageReport {
  keys: string[];
  bytes: number;
}

export interface SessionGraph {
  session: Session;
  /** Turns of this session and of the lineage above it, newest first. */
  turns: Turn[];
  /** Sessions that begin below one of these turns, as far as the caller may see them. */
  forks: Session[];
}
