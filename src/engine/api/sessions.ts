/** Sessions, their tree and their mailbox, as a door sees them (S1, S5, S6, S7, S8, A2). */
import type { SessionCursor, SessionPage, SessionQuery, TextHit } from "../../records/record-store.ts";
import type { Turn } from "../../domain/turn.ts";
import type { TranscriptMessage } from "../../domain/transcript.ts";
import type { Session, SessionPatch } from "../../domain/session.ts";
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

/** Creating, reading, changing and listing sessions. */
export interface Sessions {
  /**
   * Creates a session without a turn, which the caller owns, and returns it. With `forkOf` it begins below that turn,
   * and takes over the settings of the turn's session that `start` leaves out. Throws `forbidden` for a reader,
   * `not_found` and `turn_not_continuable` for the turn, `workspace_unknown`, `context_unknown`.
   */
  create(caller: Caller, start: SessionStart): Promise<Session>;
  /** Returns a session that the caller may see. Throws `not_found`. */
  get(caller: Caller, id: string): Promise<Session>;
  /**
   * Changes the named fields of a session and returns the session. A change of `isPublic` is recorded in the audit log.
   * The owner may do this, and an admin who may see the session. Throws `not_found`, `forbidden`.
   */
  update(caller: Caller, id: string, patch: SessionPatch): Promise<Session>;
  /**
   * Returns a page of the sessions that the caller owns or takes part in, and of those that are public in the caller's
   * org: the newest activity first. `next` is the cursor of the next page, or null on the last one (S7).
   */
  list(caller: Caller, page: SessionListRequest): Promise<SessionPage>;
  /**
   * Returns the messages that subagents sent to the session's agent, oldest first, and the ids of the subagents' turns
   * that are running (A2). A turn request with `fire` delivers the waiting messages. Throws `not_found`.
   */
  mailbox(caller: Caller, sessionId: string, page?: MailboxRequest): Promise<Mailbox>;
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
