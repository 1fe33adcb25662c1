/** Sessions, their trees and their mailboxes (S1, S5, S6, S7, S8, A2). */
import type { ModelSettings } from "../../domain/context.ts";
import type { Attachments } from "./attachments.ts";
import type { Summaries } from "./summaries.ts";
import type { Pins } from "./pins.ts";
import type { TurnNames } from "./turn-names.ts";
import type { WorkspaceMemory } from "./memory.ts";
import type { WorkspaceRegistry } from "./workspaces.ts";
import type {
  HeadMove,
  SessionCursor,
  SessionPage,
  SessionQuery,
  TextHit,
  TurnForks,
} from "../../records/record-store.ts";
import type { ArchivedTurn, Turn } from "../../domain/turn.ts";
import type { TranscriptMessage } from "../../domain/transcript.ts";
import type { Session, SessionPatch } from "../../domain/session.ts";
import type { SessionNews } from "../../domain/session-news.ts";
import type { MailboxMessage } from "../../domain/mailbox.ts";
import type { Caller } from "../../domain/caller.ts";
import type { Millis } from "../../domain/ids.ts";
import type { Usage } from "../../domain/usage.ts";

/** What a person chooses for the turns of a new session (S9). */
interface StartingChoice {
  agentContextId?: string;
  conversationContextId?: string;
  /** The words for a model or a context (G3). */
  model?: string;
  settings?: ModelSettings;
}

/** The fields of a new session. All of them are optional. */
export interface SessionStart extends StartingChoice {
  name?: string;
  key?: string;
  description?: string;
  labels?: string[];
  isPublic?: boolean;
  isDraft?: boolean;
  category?: string;
  metadata?: Record<string, unknown>;
  workspaceId?: string;
  repo?: string;
  /** More repositories that the session is about, in order (M7). They need a `repo`. */
  otherRepos?: string[];
  defaultLanguage?: string;
  /**
   * The turn that the session continues. The session takes over the settings of that turn's session that are not given
   * here (T6).
   */
  forkOf?: string;
}

export type SessionListRequest = Omit<SessionQuery, "orgId" | "userId" | "limit"> & {
  limit?: number;
  after?: SessionCursor;
};

/**
 * The messages to list. `after` is the number of a message: only later ones are returned. `waiting`: only messages that
 * no turn has taken.
 */
/** The messages of a session's mailbox, and the subagents' turns that are running. */
export interface MailboxRequest {
  after?: number;
  waiting?: boolean;
  limit?: number;
}

export interface SessionMailbox {
  messages: MailboxMessage[];
  runningTurnIds: string[];
}

/** A page of a list of sessions. */
export interface SessionListPage extends SessionPage {
  /**
   * How many sessions the filters hide. Null without a filter, and on later pages. `archived` is no filter in this
   * sense.
   */
  hidden: number | null;
}

/** What turns have cost. `isPartial`: there are more sessions than one report reads, and the oldest are left out. */
export interface CostReport {
  cells: CostCell[];
  /** The sessions that the cells name. */
  sessions: { id: string; name: string }[];
  isPartial: boolean;
}
/** The turns of one day (in UTC), session, person and model. */
export interface CostCell {
  day: string;
  sessionId: string;
  userId: string;
  model: string;
  turns: number;
  usage: Usage;
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
   * Another context clears the model and the settings that were chosen before it (G2). `settings` replaces all settings.
   * The owner may do this, and an admin who may see the session. Throws `not_found`, `forbidden`, `context_unknown`,
   * `provider_unknown`.
   */
  update(caller: Caller, id: string, patch: SessionPatch): Promise<Session>;
  /**
   * Returns a page of the sessions that the caller owns or takes part in, and of those that are public in the caller's
   * org: the newest activity first. `next` is the cursor of the next page, or null on the last one (S7).
   */
  list(caller: Caller, page: SessionListRequest): Promise<SessionListPage>;
  /**
   * Returns the last turn of each of these sessions that has one and that the caller may see. They are sessions as this engine
   * returned them.
   */
  lastTurns(caller: Caller, sessions: readonly Session[]): Promise<Turn[]>;
  /**
   * Yields what changes in the sessions that `list` returns first, in the one with `sessionId` however old it is, and in what waits
   * for the caller, from now on. A session that the caller may not see has no news. The first piece says to read everything, and so
   * does one after the listener was too slow. Ends when the signal aborts, and when the engine closes.
   */
  changes(caller: Caller, listener: { signal: AbortSignal; sessionId?: string }): AsyncIterable<SessionNews>;
  /**
   * Returns the messages that subagents sent to the session's agent, oldest first, and the ids of the subagents' turns
   * that are running (A2). A turn request with `fire` delivers the waiting messages. Throws `not_found`.
   */
  mailbox(caller: Caller, sessionId: string, page?: MailboxRequest): Promise<SessionMailbox>;
  /** Returns what the turns of a period have cost, over the sessions that the caller may see (U9). `until` is not part of it. */
  costs(caller: Caller, period: { from: Millis; until: Millis }): Promise<CostReport>;
  /** Finds sessions that no list shows to the owner of the data folder, and attaches them again. */
  readonly attachments: Attachments;
  /** Makes and reads summaries of sessions (M5). */
  readonly summaries: Summaries;
  /** What no compaction drops (M6). */
  readonly pins: Pins;
  readonly turnNames: TurnNames;
}

/** The sessions of a workspace. Each session continues the one before it (W3, W5). */
export interface WorkspaceSessions {
  /** The facts that a workspace remembers for its sessions (M3). */
  readonly memory: WorkspaceMemory;
  /** The workspaces themselves, as people manage them. */
  readonly workspaces: WorkspaceRegistry;
  /**
   * Creates a session of the workspace that continues the one that was last used there, and returns it. With `fresh`,
   * it begins empty. If a person edited the transcript, it begins with the content of the file, as an imported turn.
   * `warnings` are for the person. Throws `forbidden` for a reader, `workspace_unknown` also if the caller may not use
   * workspaces.
   */
  begin(
    caller: Caller,
    start: SessionStart & { workspaceId: string; fresh?: boolean },
  ): Promise<{ session: Session; warnings: string[] }>;
  /**
   * Creates a session from a conversation that took place elsewhere, as one finished turn, and returns it (W5). Throws
   * `forbidden` for a reader, `instruction_empty` if there is no message.
   */
  import(caller: Caller, start: SessionStart & { messages: readonly TranscriptMessage[] }): Promise<Session>;
}

/** The session after an undo, and the turn that was undone. Null: there was none. */
export interface UndoReport {
  session: Session;
  undoneTurnId: string | null;
}

/**
 * Changes of whole sessions, and searches (S5, S6, S8, T6, K4). Only the owner of a session may change it, and an admin
 * who may see it.
 */
export interface SessionTree {
  /**
   * Moves the head of a session from the turn that the caller saw as the head to another turn of the session that can
   * be continued. Returns the session. Throws `not_found`, `forbidden`, `head_moved`, `session_busy`,
   * `session_archived`, `turn_not_continuable`.
   */
  moveHead(caller: Caller, move: { sessionId: string; from: string | null; to: string }): Promise<Session>;
  /** Returns how people moved the head, oldest first (T6). Throws `not_found`. */
  headMoves(caller: Caller, sessionId: string): Promise<HeadMove[]>;
  /**
   * Moves the head back to before the newest turn of the session's agent. A turn that failed and did nothing is not in the
   * history, so the head stays. Before the first turn there is no head. If the newest turn was undone already, the head
   * moves further back (T12). Throws `not_found`, `forbidden`, `head_moved`, `session_busy`, `session_archived`.
   */
  undo(caller: Caller, sessionId: string): Promise<UndoReport>;
  /**
   * Archives a finished turn that nothing continues: it stays readable, and can be neither continued nor forked (T2). An
   * archived turn stays as it is. Returns the turn. Throws `not_found`, `forbidden`, `turn_not_finished`, `turn_in_use`.
   */
  archiveTurn(caller: Caller, turnId: string): Promise<ArchivedTurn>;
  /**
   * Deletes the id of a finished turn: it can be neither named, found nor continued by it any more. The turn is archived if
   * nothing needs it. Otherwise it remains a part of the histories that have it, and a purge deletes it with them (O2). A
   * second call changes nothing. Throws `not_found`, `forbidden`, `turn_not_finished`.
   */
  hideTurn(caller: Caller, turnId: string): Promise<void>;
  /**
   * Archives a session: it stays readable and takes no more turns. Returns the session. Throws `not_found`,
   * `forbidden`.
   */
  archive(caller: Caller, sessionId: string): Promise<Session>;
  /** Ends the archiving of a session, and returns the session. Throws `not_found`, `forbidden`. */
  unarchive(caller: Caller, sessionId: string): Promise<Session>;
  /**
   * Removes a session from lists and reads, until it is restored or purged. Returns the session. Throws `not_found`,
   * `forbidden`.
   */
  remove(caller: Caller, sessionId: string): Promise<Session>;
  /** Restores a removed session, and returns it. Throws `not_found`. */
  restore(caller: Caller, sessionId: string): Promise<Session>;
  /** Returns the removed sessions that the caller may see. */
  listRemoved(caller: Caller): Promise<Session[]>;
  /**
   * Deletes a removed session permanently, with its turns and their blobs. Turns that other sessions are based on are
   * kept. Throws `not_found`, and `session_busy` if a turn of the session is running.
   */
  purge(caller: Caller, sessionId: string): Promise<PurgeReport>;
  /**
   * Deletes the blobs that no turn needs, and returns their keys. `dryRun` returns the same list and deletes nothing.
   * Only an admin of the server's first org may do this. Throws `forbidden`, and `garbage_doubtful` if most blobs are
   * garbage and the caller does not expect that: then the records may be lost.
   */
  collectGarbage(caller: Caller, order: GarbageOrder): Promise<GarbageReport>;
  /**
   * Searches the names, labels, metadata, instructions and answers of the sessions that the caller may see. Each hit
   * contains every word of `text`. Throws `request_invalid` if there is no word, or too many (S8).
   */
  search(caller: Caller, query: { text: string; limit?: number }): Promise<TextHit[]>;
  /**
   * Returns a page of the turns of a session and of those that it was forked from, with their forks. Throws `not_found`
   * for the session, and for an `after` that is not one of these turns.
   */
  graph(caller: Caller, sessionId: string, page?: { after?: string; limit?: number }): Promise<SessionGraph>;
  /** Returns sessions with their forks. Throws `not_found` for `below`. */
  forest(caller: Caller, request: ForestRequest): Promise<Forest>;
}

/** What a purge deleted. */
export interface PurgeReport {
  turnsPurged: number;
  /** The turns that were kept, because other sessions are based on them. */
  turnsKept: number;
  blobsDeleted: number;
  bytesFreed: number;
}

export interface GarbageOrder {
  dryRun: boolean;
  /** True: delete the garbage also if it is most of what is stored. */
  isMostExpected?: boolean;
}

/** The blobs that no turn needs, and their total size in bytes. */
export interface GarbageReport {
  keys: string[];
  bytes: number;
  /** True if most of the stored blobs are garbage. */
  isMost: boolean;
}

/** A page of a session's turns, and what was forked from them. */
export interface SessionGraph {
  session: Session;
  /** The turns of this session, then of the lineage above it, newest first. */
  turns: Turn[];
  /** The forks below these turns that the caller may see. */
  forks: TurnForks[];
  /** The turn after which the next page begins. Null: this page is the last. */
  nextAfter: string | null;
}

/** Which trees of sessions to return. Without `text` and `below`: those with the newest activity at their root. */
export interface ForestRequest {
  /** The number of trees, or with `text` of the found sessions. */
  limit?: number;
  after?: SessionCursor;
  /** Only sessions that contain all of these words, with the sessions that they were forked from. */
  text?: string;
  /** Only the tree below this session. */
  below?: string;
}

/** Sessions as trees: each fork below the session that it was forked from. */
export interface Forest {
  /** A session comes after the one that it was forked from. */
  sessions: ForestSession[];
  next: SessionCursor | null;
}

export interface ForestSession {
  session: Session;
  /** The turn below which it begins. Null: it is a root, because it is no fork or because the caller may not see its origin. */
  origin: Omit<TurnForks, "count" | "newest"> | null;
  /** The turns below which forks begin, with the number of all forks; the answer may have fewer. Null: they were not read. */
  forks: Omit<TurnForks, "newest">[] | null;
}
