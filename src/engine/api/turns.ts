/** Turns: the request for a turn, the running turn, and the finished one (T5, T6, T7, V4, V5). */
import type { ClientAnswer, ClientQuestion } from "../../records/questions.ts";
import type { FinishedTurn, PendingTurn, Turn, TurnKind } from "../../domain/turn.ts";
import type { AlwaysOffer, ToolCallView, ToolDefinition, ToolFeedback } from "../../domain/tool.ts";
import type { HistoryItem, ConversationItem } from "../../domain/history.ts";
import type { UnkeptTurn } from "../../records/unkept.ts";
import type { Step } from "../../domain/step.ts";
import type { Session } from "../../domain/session.ts";
import type { PartRef, TurnPart } from "../../domain/input-part.ts";
import type { SequencedEvent } from "../../domain/events.ts";
import type { Caller } from "../../domain/caller.ts";
import type { TurnEstimate } from "./turn-estimate.ts";
import type { ApprovalAnswer, ApprovalQuestion, TurnRequest } from "./turn-request.ts";

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
   * Returns the events of a turn after position `afterSeq` (0, the default, for all events), in order. Works while the turn runs and at
   * any time later. The iterable ends after the terminal event, or when `signal` aborts (V2), or with `until: "now"` after the
   * events that there are. Throws `not_found`, and `event_id_unknown` if the turn has no event at that position.
   */
  events(
    caller: Caller,
    turnId: string,
    from?: { afterSeq?: number; signal?: AbortSignal; until?: "now" | undefined },
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
   * Returns the questions of a turn that wait for a person (V5): those of a running turn, in whichever process it runs, and those
   * that a client asks about calls of its own tools. Throws `not_found`.
   */
  questions(caller: Caller, turnId: string): Promise<OpenQuestion[]>;
  /**
   * Returns everything over all sessions that waits until the caller allows it: questions of running turns, and calls of turns
   * that ended with calls to approve. The oldest activity is first.
   */
  waiting(caller: Caller): Promise<CallToApprove[]>;
  /**
   * Answers an open question. Who may continue the session may do this, and the first answer counts. If the turn runs in
   * another process, a simultaneous answer may still come first. With `always`, such calls are allowed permanently where the question
   * says so. Throws `question_not_open`, `not_found`, `forbidden`.
   */
  answerQuestion(caller: Caller, answer: { turnId: string; callId: string } & ApprovalAnswer): Promise<void>;
  /**
   * Asks about a call that the turn left to the caller's tools, and returns the answer, or null as long as there is none. The
   * question ends `questionLeaseMs` after the last time that its asker asked. Another asker begins again. Throws
   * `question_not_open` if the turn leaves no such call, `request_invalid`, `not_found`, `forbidden`.
   */
  askQuestion(caller: Caller, question: ClientQuestion): Promise<ClientAnswer | null>;
  /** Ends the question of this asker. Throws `not_found`, `forbidden`. */
  withdrawQuestion(caller: Caller, question: Omit<ClientQuestion, "view">): Promise<void>;
  /**
   * Returns the caller's turn that a conversation continues: the one at whose end the longest beginning of `items` was there.
   * Only turns of requests that are findable count. Given `below`, the items follow that turn. Null: there is none (O5).
   */
  find(caller: Caller, items: readonly ConversationItem[], below?: string): Promise<FoundTurn | null>;
  /**
   * Estimates the first call of a turn: its tokens by kind, and its price. Nothing is stored, and no model is called. Throws what
   * `run` throws.
   */
  estimate(caller: Caller, request: TurnRequest): Promise<TurnEstimate>;
  /** Returns a turn of a session that the caller may see. Throws `not_found`. */
  get(caller: Caller, id: string): Promise<Turn>;
  /**
   * Returns the turn of the caller's request with this idempotency key (T13). Null: no request with it made a turn, or its turn was
   * purged. Throws `not_found` if the caller may no longer see it.
   */
  ofKey(caller: Caller, idempotencyKey: string): Promise<Turn | null>;
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

/** A question of a turn that waits for a person. */
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
  /** True: a turn with `toolResults` answers. False: the turn runs or a client asks, and `answerQuestion` answers. */
  isParked: boolean;
  /** How to show the call. Null: the tool did not say. */
  view: ToolCallView | null;
  /** What the caller may allow permanently with the answer, or why nothing. */
  always: AlwaysOffer;
  /** The budgets that the next call of the model could pass (F11). Then no tool waits, and the view says why. Absent: a tool waits. */
  budgetIds?: string[];
}

/** A turn that is running, and the position of its newest event. */
export interface RunningNow {
  turn: PendingTurn;
  seq: number;
}

/** A turn that was opened and runs, or the finished one of a repeat. */
export interface RunningTurn {
  sessionId: string;
  turnId: string;
  /** The session at the start of the turn, with the name that its first turn gives it (S2). Null for a repeat. */
  session: Pick<Session, "name" | "activeAt" | "costUsd"> | null;
  /** The turn as it was opened. The turn of a repeat may have ended. */
  turn: Turn;
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
  /**
   * Returns how the turn ended, without a store, if this process knows it. Null: the turn runs; this is a repeat; the end was stored by
   * another process, or without its events; or the caller does not own the session, and may have lost the right to see it (H4).
   */
  ended(): EndedTurn | null;
}

/** A turn as it is stored, and its whole answer, or the partial output of a failed one. */
export interface EndedTurn {
  turn: FinishedTurn;
  answer: string;
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
  toolResults(): Promise<ToolFeedback<PartRef>[]>;
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
   * Returns the whole output of a tool call whose result is in this turn. The model may have received only a part. Throws
   * `not_found` if there is no such result.
   */
  output(callId: string): Promise<string>;
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
  toolResults: readonly ToolFeedback<PartRef>[];
  clientData: Record<string, unknown>;
}
