/** A turn as a door asks for it and follows it (T5, T6, T7, V4, V5). */
import type { SessionStart } from "./sessions.ts";
import type { Tool } from "../../tools/tool.ts";
import type { FinishedTurn, Turn, TurnKind } from "../../domain/turn.ts";
import type { ToolCallView, ToolDefinition, ToolFeedback } from "../../domain/tool.ts";
import type { Step } from "../../domain/step.ts";
import type { Session } from "../../domain/session.ts";
import type { InputPart } from "../../domain/input-part.ts";
import type { SequencedEvent } from "../../domain/events.ts";
import type { ModelSettings } from "../../domain/context.ts";
import type { Caller } from "../../domain/caller.ts";
import type { ActiveFile } from "../../domain/active-file.ts";

/** Running, controlling and reading turns. */
export interface Turns {
  /**
   * Runs a turn: the next turn of the session `sessionId`, or the first turn of a new session. Resolves as soon as the
   * turn is open and durable. The turn then runs to its end whether or not a client listens (R5). Only the owner of a
   * session and those who take part in it may run turns in it; who may only read it may fork it.
   *
   * Throws if the turn is refused, and then nothing is stored: `instruction_empty`, `context_unknown`, `session_busy`,
   * `head_moved`, `session_archived`, `turn_not_continuable`, `runs_limited`, `shutting_down`, and other codes of
   * docs/errors.md. A failure after that ends the turn, and is stored with it.
   */
  run(caller: Caller, request: TurnRequest): Promise<RunningTurn>;
  /**
   * Returns the events of a turn after position `afterSeq` (0 for all events), in order. Works while the turn runs and at
   * any time later. The iterable ends after the terminal event, or when `signal` aborts (V2). Throws `not_found`, and
   * `event_id_unknown` if the turn has no event at that position.
   */
  events(
    caller: Caller,
    turnId: string,
    from: { afterSeq: number; signal?: AbortSignal },
  ): Promise<AsyncIterable<SequencedEvent>>;
  /**
   * Sends a message to a running turn, and returns the id of the turn. The model receives the message at the turn's next
   * step (V4). Throws `turn_not_running`, `not_found`, `forbidden`, `instruction_empty`.
   */
  steer(caller: Caller, target: ({ turnId: string } | { sessionId: string }) & { text: string }): Promise<string>;
  /**
   * Stops a turn, or everything that runs in a session, subagents included. Returns the id of the turn that it stopped,
   * or null if none was running: a second call is harmless (T10). Who may continue the session may do this, and an admin
   * who may see it. Throws `not_found`, `forbidden`.
   */
  interrupt(caller: Caller, target: { turnId: string } | { sessionId: string }): Promise<string | null>;
  /** Returns a turn of a session that the caller may see. Throws `not_found`. */
  get(caller: Caller, id: string): Promise<Turn>;
  /** Returns a page of a session's turns, newest first. Throws `not_found`. */
  list(caller: Caller, sessionId: string, page: TurnListRequest): Promise<Turn[]>;
  /** Returns a reader of the turn's contents, which are kept as blobs. Throws `not_found`. */
  read(caller: Caller, id: string): Promise<TurnReader>;
  /**
   * Returns the turns from the root of the tree to this turn, oldest first, across forks (T6). A caller who may see the
   * turn may see all of them, because they are its history. Throws `not_found`.
   */
  lineage(caller: Caller, turnId: string): Promise<Turn[]>;
}

export interface TurnListRequest {
  /** Only turns with a lower sequence number. */
  before?: number;
  /** The size of the page; a maximum applies. */
  limit?: number;
  kind?: TurnKind;
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
  /** The boot prompt that counted (E6); null: of a turn that came from elsewhere. */
  prompt(): Promise<string | null>;
  /** The parts of the user message exactly as the model got them (E2). */
  message(): Promise<string[]>;
}
