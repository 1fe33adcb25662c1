/** Turns: the request for a turn, the running turn, and the finished one (T5, T6, T7, V4, V5). */
import type { SessionStart } from "./sessions.ts";
import type { ActiveFile, WorkingCopy } from "../../domain/active-file.ts";
import type { Tool } from "../../tools/tool.ts";
import type { FinishedTurn, PendingTurn, Turn, TurnKind } from "../../domain/turn.ts";
import type { ToolCallView, ToolDefinition, ToolFeedback } from "../../domain/tool.ts";
import type { HistoryItem, ConversationItem } from "../../domain/history.ts";
import type { UnkeptTurn } from "../../records/unkept.ts";
import type { Step } from "../../domain/step.ts";
import type { ItemRef } from "../../domain/lineage.ts";
import type { Session, StandingChoice } from "../../domain/session.ts";
import type { InputPart, TurnPart } from "../../domain/input-part.ts";
import type { SequencedEvent } from "../../domain/events.ts";
import type { ModelSettings, Surroundings } from "../../domain/context.ts";
import type { Caller } from "../../domain/caller.ts";

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
  /**
   * Returns the turn of the session's agent that is running, in whichever process, or null. Waits for one that is being
   * prepared here. Throws `not_found`.
   */
  running(caller: Caller, sessionId: string): Promise<RunningNow | null>;
  /**
   * Returns the questions of a running turn that wait for a person, in whichever process it runs (V5). Empty if it is not
   * running. Throws `not_found`.
   */
  questions(caller: Caller, turnId: string): Promise<OpenQuestion[]>;
  /**
   * Returns everything over all sessions that waits until the caller allows it: questions of running turns, and calls of turns
   * that ended with calls to approve. The oldest activity is first.
   */
  waiting(caller: Caller): Promise<CallToApprove[]>;
  /**
   * Answers an open question. Who may continue the session may do this, and the first answer counts. If the turn runs in
   * another process, a simultaneous answer may still come first. Throws `question_not_open`, `not_found`, `forbidden`.
   */
  answerQuestion(caller: Caller, answer: { turnId: string; callId: string } & ApprovalAnswer): Promise<void>;
  /**
   * Returns the caller's turn that a conversation continues: the one at whose end the longest beginning of `items` was there.
   * Only turns of requests that are findable count. Given `below`, the items follow that turn. Null: there is none (O5).
   */
  find(caller: Caller, items: readonly ConversationItem[], below?: string): Promise<FoundTurn | null>;
  /** Returns how many tokens the first call of a turn would have, by an estimate. Nothing is stored. Throws what `run` throws. */
  estimate(caller: Caller, request: TurnRequest): Promise<number>;
  /** Returns a turn of a session that the caller may see. Throws `not_found`. */
  get(caller: Caller, id: string): Promise<Turn>;
  /** Returns a page of a session's turns, newest first. Throws `not_found`. */
  list(caller: Caller, sessionId: string, page: TurnListRequest): Promise<Turn[]>;
  /** Returns a reader of the turn's contents, which are kept as blobs. Throws `not_found`. */
  read(caller: Caller, id: string): Promise<TurnReader>;
  /**
   * Returns the history at the end of a turn, oldest turn first, without what was hidden. A summary replaces none of it. Throws
   * `not_found`, `history_unavailable`.
   */
  history(caller: Caller, turnId: string): Promise<TurnItems[]>;
  /**
   * Returns the turns from the root of the tree to this turn, oldest first, across forks (T6). A caller who may see the
   * turn may see all of them, because they are its history. Throws `not_found`.
   */
  lineage(caller: Caller, turnId: string): Promise<Turn[]>;
}

/** A place for turns whose content is not kept (O3). They can continue each other, and no other place has them. */
export interface UnkeptTurns {
  turns: Turns;
  /** Returns what remains of the caller's turns, newest first: counts, and no content. */
  list(caller: Caller, page: { limit: number }): Promise<UnkeptTurn[]>;
  /** Forgets everything. Turns that run go on to their end. */
  forget(): void;
}

/** What a turn added to a history. */
export interface TurnItems {
  turnId: string;
  /** The items, each with its place in the turn, from 0. */
  items: { at: number; item: HistoryItem }[];
}

/** A turn, and how many items of a conversation its history has. */
export interface FoundTurn {
  turnId: string;
  items: number;
}

export interface TurnListRequest {
  /** Only turns with a lower sequence number. */
  before?: number;
  /** The size of the page; a maximum applies. */
  limit?: number;
  kind?: TurnKind;
}

/** A turn to run. Only `instruction` is required. A field that is left out takes its value from the session, else from the contexts. */
export interface TurnRequest
  extends TurnTarget, RequestedInput, RequestedContexts, RequestedTools, RequestedRetrieval, Surroundings {
  /** The workspace whose settings and transcript the turn uses. Default: the workspace of the session. */
  workspaceId?: string;
  /** True: the turn stores what it is given and calls no model, unless `compact` wants a summary. So a history can be extended and changed (O2). */
  withoutModel?: boolean;
  /** Items of the history that no model receives from this turn on. A call and its result are hidden together (T8, O2). */
  hides?: readonly ItemRef[];
  /** True: a client that sends its whole history finds the turn by it (O5). */
  isFindable?: boolean;
  /** The client's own data about the request. It is stored with the turn and returned, and the program never reads it. */
  clientData?: Record<string, unknown>;
  /** The fields of a new session. Ignored if the turn continues a session. */
  session?: Omit<SessionStart, "forkOf" | keyof StandingChoice | "workspaceId" | "repo" | "defaultLanguage">;
  /**
   * A key that makes it safe to send the request again: the same key and the same request from the same user return the
   * turn that the first request made. Another request with the key throws `idempotency_key_reused` (T13).
   */
  idempotencyKey?: string;
}

/** The position of the new turn: `rerun` counts before `fork`, `fork` before `after`, and `after` before `sessionId`. A turn without any of them starts a new session. */
export interface TurnTarget {
  /** The session that the turn continues from its head. */
  sessionId?: string;
  /** Starts a new session whose first turn continues this one, which may be in any session that the caller may read (T6). */
  fork?: { turnId: string };
  /**
   * Continues this turn, wherever it is: in its session if it is the head there and no turn runs, otherwise as a fork. So it
   * is never refused because of another turn. A turn that is still running is waited for (O2).
   */
  after?: { turnId: string };
  /** Runs a turn again beside the old one, with the same parent. An empty instruction repeats the old one (T7). */
  rerun?: { turnId: string; asFork?: boolean | undefined };
  /**
   * Runs the newest turn of the session's agent again, whether or not it failed, beside the old one (T12). `sessionId` names
   * the session. An empty instruction repeats the old one.
   */
  retry?: boolean;
  /**
   * What happens if a turn of the session is running (T5). `refuse` (the default) throws `session_busy`. `queue` waits for
   * its end. `interrupt` stops it. `steer` sends the instruction to it as a message, and returns that turn.
   */
  ifBusy?: "refuse" | "queue" | "interrupt" | "steer";
  /** The head that the caller saw, or null if the session had none. If the head is another one, this throws `head_moved`. Default: any head. */
  expectedHead?: string | null;
  /** Delivers all messages that wait in the session's mailbox, each exactly once (A2). Throws `mailbox_empty` if there are none. */
  fire?: boolean;
}

/** What the person gives to the turn. */
export interface RequestedInput {
  /** The text for the model. It may be empty only with `toolResults`, `earlier`, `rerun`, `retry` or `fire`. */
  instruction: string;
  /**
   * The items of a conversation that took place elsewhere, oldest first. They become a part of the history. A result must
   * answer a call before it in this list. A call without a result is closed with one that says so (T8).
   */
  earlier?: readonly ConversationItem[];
  /**
   * Changes the old instruction that a rerun or retry without an instruction repeats: a door may have put words of its own
   * into it. Only an embedding program can give it.
   */
  repeatInstruction?: (old: string) => string;
  /** Texts, files, images and addresses that come with the instruction (I1). Texts are appended to the instruction. */
  input?: InputPart[];
  /** Answers to the tool calls that the head waits for (T9). */
  toolResults?: ToolFeedback[];
  /** Files that the person has open. The model receives those that have changed since they were last sent. */
  activeFiles?: ActiveFile[];
}

/** The contexts and the model of the turn. */
export interface RequestedContexts {
  agentContextId?: string;
  conversationContextId?: string;
  /** The id of a mode of the conversation context. Default: `ask`. */
  mode?: string;
  /** The name of a model, `<provider>/<model>`, or `context:<id>` (G3). */
  model?: string;
  /** Settings that replace those of the conversation context, one by one. */
  settings?: ModelSettings;
  /** True: the settings count for this turn alone. Otherwise a new session keeps them for its later turns (S9). */
  isSettingsOnce?: boolean;
  /**
   * What the caller tells the model for this turn alone, as a part of the boot prompt. It replaces the built-in boot prompt,
   * and follows one that the context configures. Later turns do not inherit it. An empty text only replaces (O4).
   */
  instructions?: string;
  /** Has the model summarise the whole history first, however short it is (C6). */
  compact?: boolean;
}

/** The tools of the turn, beside the configured ones. */
export interface RequestedTools {
  /** Tools that the client runs. A tool replaces one of the conversation context that has the same name (E4). */
  tools?: ToolDefinition[];
  /** The name of a tool that the model must call. */
  toolChoice?: string;
  /** True: the model must call one of the tools that it may call. */
  mustCallTool?: boolean;
  /** The names of the client's tools that the model may call; the others are only listed. Default: all of them. */
  allowedTools?: readonly string[];
  /** True: beside the client's tools, only those that the conversation context names are offered, and none of the engine (O4). */
  onlyNamedTools?: boolean;
  /**
   * Tools that run in this process, for this turn only. A tool replaces a configured one that has the same name. Only an
   * embedding program can give them; no wire format carries them.
   */
  ownTools?: readonly Tool[];
  /**
   * Decides without a person whether a call may run, for example because a person has allowed such calls permanently. Null:
   * a person must be asked. Only called if there is `askApproval` too. It must never reject.
   */
  decideApproval?: (question: ApprovalQuestion) => Promise<ApprovalAnswer | null>;
  /**
   * Asks a person, while the turn runs, whether a call may run. Null: this client cannot ask, or can no longer; the question
   * stays open until another client answers it (`Turns.answerQuestion`), or until the turn ends. It must never reject.
   * Without it, such a call ends the turn as `awaiting_tool_results` (V5).
   */
  askApproval?: (question: ApprovalQuestion) => Promise<ApprovalAnswer | null>;
}

/** The part of the code that retrieval searches. */
export interface RequestedRetrieval {
  /** The repository whose index is searched. Null: nothing is searched. Default: the repository of the session. */
  repo?: string | null;
  /** The commit of the caller's working copy. The turn warns if the index was made at another commit. */
  commit?: string;
  /**
   * The caller's working copy, or its folder on the engine's machine. The engine compares what the model has with the files
   * there (X6). A door must take a folder only from a caller who may read it. Null: there is nothing to compare with.
   * Default: the folder in which the session was started, for the people who run the server.
   */
  workingCopy?: string | WorkingCopy | null;
  /** What happens if the repository has no index: `fail` (the default) fails the turn, `warn` runs it without retrieval (Q5). */
  ifNotIndexed?: "fail" | "warn";
  /** The preferred programming language. Chunks in it rank higher; no chunk is left out. */
  language?: string;
  /** Searches only these files and folders. An empty list: everywhere. Default: what the workspace's configuration names. */
  pathPrefixes?: string[];
}

/** A call that a person is asked to allow. */
export interface ApprovalQuestion {
  sessionId: string;
  turnId: string;
  callId: string;
  name: string;
  args: Record<string, unknown>;
  view: ToolCallView;
  /** Aborts when another client has answered, or when the turn is stopped. From then on the answer is ignored. */
  signal: AbortSignal;
}

/** A question of a running turn that waits for a person. */
export type OpenQuestion = Pick<ApprovalQuestion, "callId" | "name" | "args" | "view">;

/** A call of any session that waits for a person. */
export interface CallToApprove extends Omit<OpenQuestion, "view"> {
  sessionId: string;
  sessionName: string;
  turnId: string;
  /** The user who began the turn. */
  userId: string;
  /** The mode of the turn. The turn that answers a parked one needs a mode that allows the call. */
  mode: string;
  /** The time at which the turn began, or at which it was parked. */
  since: number;
  /** True if the turn has ended: a turn with `toolResults` answers. False: it runs, and `answerQuestion` answers. */
  isParked: boolean;
  /** How to show the call. Null: the tool did not say. */
  view: ToolCallView | null;
}

/** A turn that is running, and the position of its newest event. */
export interface RunningNow {
  turn: PendingTurn;
  seq: number;
}

export type ApprovalAnswer = { approved: true } | { approved: false; reason?: string };

/** A turn that was opened and runs, or the finished one of a repeat. */
export interface RunningTurn {
  sessionId: string;
  turnId: string;
  /** The session at the start of the turn, with the name that its first turn gives it (S2). Null for a repeat. */
  session: Pick<Session, "name" | "activeAt" | "costUsd"> | null;
  model: string;
  /**
   * True if an earlier request made this turn: one with the same idempotency key (T13), or the request of the turn that
   * was steered (T5).
   */
  isRepeat: boolean;
  /** Returns all events, from the first. It can be called any number of times, also after the turn has finished. */
  events(signal?: AbortSignal): AsyncIterable<SequencedEvent>;
  /**
   * Resolves when the turn is finished and stored. A failed turn resolves too. It rejects only for a repeat whose store
   * fails, with the error of the store.
   */
  finished: Promise<FinishedTurn>;
}

/**
 * Reads the contents of a turn. Each method reads its blob when it is called, and throws `blob_missing` or
 * `blob_damaged` instead of returning less than was stored.
 */
export interface TurnReader {
  turn: Turn;
  /** Returns the whole instruction. */
  instruction(): Promise<string>;
  /** Returns what the request had beside the instruction. */
  asked(): Promise<AskedOfTurn>;
  /** Returns the answers that the turn brought to waiting tool calls (T9). */
  toolResults(): Promise<ToolFeedback[]>;
  /** Returns the content of a part of the turn's input (I1). Null: the part was only named. */
  inputContent(part: TurnPart): Promise<Uint8Array | null>;
  /** Returns the whole answer, or the partial output of a failed turn. */
  answer(): Promise<string>;
  /** Returns the steps of the turn, in order. */
  steps(): Promise<Step[]>;
  /**
   * Returns the exact bytes of the body that a step sent. Steps count from 1 (D3). Throws `not_found` if there is no
   * such step.
   */
  request(step: number): Promise<Uint8Array>;
  /** Returns the exact bytes of the response that a step received. Throws `not_found` if there is no such step. */
  response(step: number): Promise<Uint8Array>;
  /**
   * Returns the part of another tool's history that an imported turn was made from (O8). Throws `not_found` for any other
   * turn, `blob_missing`, `blob_damaged`.
   */
  source(): Promise<Uint8Array>;
  /**
   * Returns the boot prompt that the turn used (E6). Null if the turn was imported from another program.
   */
  prompt(): Promise<string | null>;
  /** Returns the parts of the user message, exactly as the model received them (E2). */
  message(): Promise<string[]>;
}

/** What a request had beside its instruction and its files. */
export interface AskedOfTurn {
  /** The earlier items, as the history has them. */
  earlier: readonly HistoryItem[];
  /** The text that the boot prompt had for this turn alone. Null: none. */
  instructions: string | null;
  /** The tools that the client runs. */
  tools: readonly ToolDefinition[];
  toolResults: readonly ToolFeedback[];
  clientData: Record<string, unknown>;
}
