/**
 * The program's whole API: what a door can ask for. Every call names the caller, and sees only what that
 * caller may see: anything else is `not_found` (H4). A refused call throws an AptoveError and has changed
 * nothing; a turn that was accepted always ends, and its failure is data in its outcome (T11).
 */
import type { ActiveFile } from "../domain/active-file.ts";
import type { Caller } from "../domain/caller.ts";
import type {
  AgentContext,
  ContextKind,
  ContextVersionFacts,
  ConversationContext,
  ModelSettings,
} from "../domain/context.ts";
import type { InputPart } from "../domain/input-part.ts";
import type { SequencedEvent } from "../domain/events.ts";
import type { TurnDiff, VerifyReport } from "./api/explanation.ts";
import type { MailboxMessage } from "../domain/mailbox.ts";
import type { Session, SessionPatch } from "../domain/session.ts";
import type { Step } from "../domain/step.ts";
import type { ToolCallView, ToolDefinition, ToolFeedback } from "../domain/tool.ts";
import type { TranscriptMessage } from "../domain/transcript.ts";
import type { FinishedTurn, Turn, TurnKind } from "../domain/turn.ts";
import type { SessionCursor, SessionPage, SessionQuery, TextHit, StoreAbout } from "../records/record-store.ts";
import type { IndexInfo, IndexJob, IndexSummary } from "../retrieval/retriever.ts";
import type { Tool } from "../tools/tool.ts";
import type { AuditLog, Devices, KeyRing, Operator, People, Sharing } from "./api/people.ts";

export type * from "./api/people.ts";

export interface Engine {
  /**
   * Runs a turn: a root without `sessionId`, else the next turn of that session. Resolves once the turn is
   * open and durable; the run goes on whether or not anyone listens (R5).
   */
  runTurn(caller: Caller, request: TurnRequest): Promise<RunningTurn>;
  /**
   * Events after `afterSeq` (0 for all), while the turn runs and ever after; ends after the terminal event (V2).
   * A place that the turn has not reached is `event_id_unknown`.
   */
  turnEvents(
    caller: Caller,
    turnId: string,
    from: { afterSeq: number; signal?: AbortSignal },
  ): Promise<AsyncIterable<SequencedEvent>>;
  /** Gives the running turn a message, which the model gets at its next step (V4). Gives the id of the turn. */
  steer(caller: Caller, target: ({ turnId: string } | { sessionId: string }) & { text: string }): Promise<string>;
  /** Stops the turn, or the session's running turn. Idempotent: gives the id of the turn that it stopped, or null (V4, T10). */
  interrupt(caller: Caller, target: { turnId: string } | { sessionId: string }): Promise<string | null>;

  createSession(caller: Caller, start: SessionStart): Promise<Session>;
  getSession(caller: Caller, id: string): Promise<Session>;
  updateSession(caller: Caller, id: string, patch: SessionPatch): Promise<Session>;
  listSessions(caller: Caller, page: SessionListRequest): Promise<SessionPage>;

  /** What subagents left for the session's agent, oldest first, and their turns that run now (A2). `fire` in a request takes it. */
  mailbox(caller: Caller, sessionId: string, page?: MailboxRequest): Promise<Mailbox>;

  getTurn(caller: Caller, id: string): Promise<Turn>;
  /** Newest first. */
  listTurns(
    caller: Caller,
    sessionId: string,
    page: { before?: number; limit?: number; kind?: TurnKind },
  ): Promise<Turn[]>;
  /** The parts of a turn that are kept as blobs, read back exactly. */
  readTurn(caller: Caller, id: string): Promise<TurnReader>;

  /** The parts of the program beside sessions. */
  readonly keys: KeyRing;
  readonly devices: Devices;
  readonly people: People;
  readonly operator: Operator;
  readonly sharing: Sharing;
  readonly audit: AuditLog;
  readonly indexes: Indexes;
  readonly contexts: Contexts;
  readonly tree: Tree;
  readonly explain: Explain;
  readonly transfer: Transfer;
  readonly workspaceSessions: WorkspaceSessions;
  /** The turns from the root to this one, oldest first, over forks (T6). Whoever may see the turn may see them: they are its history. */
  lineage(caller: Caller, turnId: string): Promise<Turn[]>;
  /** Counts a request of the caller over all servers. Throws `rate_limited` (H5). */
  takeRequest(caller: Caller): Promise<void>;
  /** Of the program. */
  readonly version: string;
  /** Cheap, however often it is called. */
  health(): Promise<HealthReport>;
  /** For the operator. */
  recordsAbout(): Promise<RecordsAbout>;
  /** Lets running turns finish for `graceMs`, then interrupts the rest; nothing is left pending (R4). */
  close(options?: { graceMs?: number }): Promise<void>;
}

export interface TurnRequest {
  /** Absent, and neither `fork` nor `rerun`: a new session. */
  sessionId?: string;
  /** A new session whose first turn continues this finished turn, of any session that the caller may read (T6). */
  fork?: { turnId: string };
  /** A new turn beside this one; an empty instruction repeats its (T7). */
  rerun?: { turnId: string };
  /** What to do when a turn of the session is running (T5); absent: `refuse`. */
  ifBusy?: "refuse" | "queue" | "interrupt" | "steer";
  /** Continue only if this is the head; absent: from whatever the head is. Null: only if there is none. */
  expectedHead?: string | null;
  /**
   * Brings the session's agent all messages that wait in the session's mailbox, each exactly once (A2). Throws `mailbox_empty`
   * where there are none.
   */
  fire?: boolean;
  /** May be empty only when `toolResults` are given, or with `fire`. */
  instruction: string;
  /** What comes with the instruction (I1); its texts are part of the instruction, behind it. */
  input?: InputPart[];
  /** Answers to the calls that the head waits for (T9). */
  toolResults?: ToolFeedback[];
  mode?: string;
  agentContextId?: string;
  conversationContextId?: string;
  model?: string;
  settings?: ModelSettings;
  workspaceId?: string;
  /** Whose index is looked up; absent: the session's. Null: nothing is looked up. */
  repo?: string | null;
  /** Where the asker's working copy stands; the turn warns where the index was made at another commit. */
  commit?: string;
  /** Where the repository has no index: `warn` looks up nothing and says so; absent: the turn fails as retrieval does (Q5). */
  ifNotIndexed?: "fail" | "warn";
  language?: string;
  /** Retrieval only below these paths. */
  pathPrefixes?: string[];
  activeFiles?: ActiveFile[];
  /** Merged with the conversation context's: same name, these win (E4). */
  tools?: ToolDefinition[];
  toolChoice?: string;
  /**
   * Tools of this turn alone that run in this process: of an editor's session, for example. Over configured ones of the
   * same name. Only for whoever has the engine itself; no wire carries them.
   */
  ownTools?: readonly Tool[];
  /** Asks a person at once whether a call may run; absent: such calls end the turn, and wait (V5). Never rejects. */
  askApproval?: (question: ApprovalQuestion) => Promise<ApprovalAnswer>;
  /** For a new session only. */
  session?: Omit<
    SessionStart,
    "forkOf" | "agentContextId" | "conversationContextId" | "workspaceId" | "repo" | "defaultLanguage"
  >;
  idempotencyKey?: string;
}

export interface ApprovalQuestion {
  sessionId: string;
  turnId: string;
  callId: string;
  name: string;
  args: Record<string, unknown>;
  view: ToolCallView;
  /** Aborts when the turn is stopped: then nobody waits for the answer any more. */
  signal: AbortSignal;
}

export type ApprovalAnswer = { approved: true } | { approved: false; reason?: string };

export interface RunningTurn {
  sessionId: string;
  turnId: string;
  /** The session as the turn found it, with the name that its first turn gave it (S2). Null for a repeat. */
  session: Pick<Session, "name" | "activeAt" | "costUsd"> | null;
  model: string;
  /** True where an earlier request made this turn: one with the same idempotency key (T13), or the one that was steered (T5). */
  isRepeat: boolean;
  /** All events from the first; may be read any number of times, and late. */
  events(signal?: AbortSignal): AsyncIterable<SequencedEvent>;
  /** Resolves when the turn is finished and stored. Rejects only for a repeat, where the store fails while it waits. */
  finished: Promise<FinishedTurn>;
}

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

/** Reads blobs when they are asked for. Every method throws `blob_missing` or `blob_damaged` rather than give back less. */
export interface TurnReader {
  turn: Turn;
  instruction(): Promise<string>;
  /** What the turn brought to the calls that waited for it (T9). */
  toolResults(): Promise<ToolFeedback[]>;
  /** The whole answer; for a failed turn its partial output. */
  answer(): Promise<string>;
  steps(): Promise<Step[]>;
  /** Exact bytes of the body that was sent in a step, and of the answer that came back (D3). Steps count from 1. */
  request(step: number): Promise<Uint8Array>;
  response(step: number): Promise<Uint8Array>;
  /** The boot prompt that counted (E6); null: of a turn that came from elsewhere, or from an older version. */
  prompt(): Promise<string | null>;
  /** The parts of the user message exactly as the model got them (E2). */
  message(): Promise<string[]>;
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

/** Those of the caller's org, where the default agent context looks things up. */
export interface Indexes {
  /** What `Retriever.index` throws, and `forbidden` for readers. */
  index(caller: Caller, job: Omit<IndexJob, "orgId">): Promise<IndexSummary>;
  list(caller: Caller): Promise<IndexInfo[]>;
}

/** Contexts, as the configuration names them and as the caller's org keeps them in records, which win (G1). */
export interface Contexts {
  /** What counts now for turns of the caller in a workspace; null: in none. */
  known(caller: Caller, workspaceId: string | null): Promise<KnownContexts>;
  /** Every context that counts in no workspace, of both kinds, by kind and id. */
  list(caller: Caller): Promise<ContextEntry[]>;
  /** What counts; with `version` a version of the org's record, also one that no longer counts. Throws `not_found`. */
  get(caller: Caller, of: ContextChoice & { version?: number }): Promise<ContextEntry>;
  /**
   * Makes a version with this content, whole: what the entry leaves out takes its built-in value, now and for good. With
   * `expected` only if that version is the newest; without, only if there is none, or it is retired. For admins.
   * Throws `context_invalid`, `context_changed`.
   */
  put(caller: Caller, edit: ContextChoice & { entry: ContextFields; expected?: number }): Promise<ContextEntry>;
  /**
   * Retires the org's record: what the configuration says under its id counts again; where it says nothing, turns that
   * name the id are refused. For admins. Throws `not_found`, `context_changed`.
   */
  retire(caller: Caller, of: ContextChoice & { expected?: number }): Promise<ContextVersionFacts>;
  /** Newest first. Throws `not_found` where the org never had such a record. */
  versions(
    caller: Caller,
    of: ContextChoice,
    page: { before?: number; limit?: number },
  ): Promise<ContextVersionFacts[]>;
  providers(): Promise<{ name: string; defaultModel: string; remembers: boolean }[]>;
}

export interface KnownContexts {
  agentContexts: readonly AgentContext[];
  conversationContexts: readonly ConversationContext[];
}

export interface ContextChoice {
  kind: ContextKind;
  id: string;
}

/** A context in the form of `config.toml`: its keys, in snake case. */
export type ContextFields = Record<string, unknown>;

/** `version` is null where the configuration says it; null `content`: this version retired it. */
export interface ContextEntry extends ContextChoice {
  version: number | null;
  createdAt: number | null;
  createdBy: string | null;
  content: AgentContext | ConversationContext | null;
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

export interface Explain {
  /** What the model saw differently in two turns, and what it answered (D1). */
  diff(caller: Caller, turns: { a: string; b: string }): Promise<TurnDiff>;
  /** Recomputes the digests of a session, oldest turn first, and names the first turn that does not hold (D2). */
  verify(caller: Caller, sessionId: string, onTurn?: (done: number, total: number) => void): Promise<VerifyReport>;
}

export interface Transfer {
  /**
   * A session, or the branch that ends at a turn, as the lines of one file that any aptove reads (docs/formats/export.md),
   * without their line breaks. What cannot be given back whole throws, with the first line or later.
   */
  export(caller: Caller, what: { sessionId: string } | { turnId: string }): AsyncIterable<string>;
  /**
   * Ids and digests are kept; importing twice changes nothing. Throws `import_invalid`, `import_conflict`, `import_newer`,
   * `session_busy`, `session_archived`: then nothing was changed.
   */
  import(caller: Caller, lines: AsyncIterable<string>): Promise<ImportReport>;
  /** For reading, not for importing. */
  markdown(caller: Caller, sessionId: string): Promise<string>;
}

export interface ImportReport {
  sessions: { id: string; name: string; isNew: boolean }[];
  turnsImported: number;
  turnsKnown: number;
  blobsImported: number;
}

/** `failed`: it refused, or did not answer in time. */
export type StoreState = "ok" | "failed";

/** Which database keeps the records, and the versions of its data and of this program. */
export type RecordsAbout = StoreAbout;

export interface HealthReport {
  version: string;
  runnerId: string;
  records: StoreState;
  blobs: StoreState;
  /** The live log. */
  log: StoreState;
  runningTurns: number;
  isShuttingDown: boolean;
}
