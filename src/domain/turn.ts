/**
 * A turn: one instruction and its outcome, and an immutable node of the tree of a session. It is a union by status, so
 * that a completed turn without an answer, or a failed turn without an error, does not type-check (T3). The functions
 * here are the only way to change the status (T2). The store makes each change a conditional write on the status that
 * it replaces.
 */
import type { ContextManifest } from "./context.ts";
import type { Failure, Warning } from "./errors.ts";
import type { StopReason } from "./events.ts";
import type { ForeignRef } from "./foreign.ts";
import type { Millis } from "./ids.ts";
import type { TurnPart } from "./input-part.ts";
import { limits } from "./limits.ts";
import type { MailboxDraft } from "./mailbox.ts";
import type { SubagentRef } from "./subagent.ts";
import type { DeferredCall } from "./tool.ts";
import type { RunSummary } from "./usage.ts";

export type TurnStatus = "pending" | "completed" | "awaiting_tool_results" | "failed" | "archived";
/** The agent that runs the turn: the session's agent, or a subagent. */
export type TurnKind = "agent" | "async_subagent";

/** The position of a turn in the tree of its session. */
export interface TurnPosition {
  id: string;
  sessionId: string;
  /** The turn that this one continues. Null for a root. */
  parentId: string | null;
  /** The parent's depth + 1. A turn without a parent has depth 1. */
  depth: number;
  kind: TurnKind;
  /** The turn that started the subagent or sent it its next instruction (A1). Null for a turn of the session's agent. */
  spawnedBy: string | null;
  /** The subagent whose turn this is. Absent for a turn of the session's agent. */
  subagent?: SubagentRef;
  /** The turn that this one repeats (T7). Null if it repeats none. */
  rerunOf: string | null;
}

/** The facts of a turn that are known when it is opened and never change. */
export interface TurnFacts extends TurnPosition {
  createdAt: Millis;
  /** The id of the user who made the request. */
  createdBy: string;
  /** The id of the mode. */
  mode: string;
  /** The name of the configured provider. */
  provider: string;
  model: string;
  /** The first 1,024 characters of the instruction. */
  instructionSummary: string;
  /** The parts that came with the instruction (I1). Absent: there are none. */
  input?: TurnPart[];
  workspaceId: string | null;
  repo: string | null;
  manifest: ContextManifest;
  /** The origin of a turn that another tool ran (O8). Absent: it ran here. */
  foreign?: ForeignRef;
}

/** The keys of the turn's blobs, which docs/formats describes. Null: there is no such blob. */
export interface TurnBlobs {
  /** The full instruction, the user message as it was sent, and the first request (E7). */
  opening: string;
  /** The events and responses, and so the answer or the partial output. Null as long as the turn runs. */
  run: string | null;
  /** The history since the base turn (K2). Only a turn whose history can be continued has one. */
  state: string | null;
}

/** What the provider remembers of this turn (C2). */
export interface ProviderChain {
  /** The account that the response belongs to, as the driver of the provider names it. Null if there is none. */
  account: string | null;
  /** The response that the next turn can continue. Null if the provider keeps none. */
  responseId: string | null;
  previousResponseId: string | null;
  expiresAt: Millis | null;
}

/** The provider remembers nothing, so no turn can continue this one by its memory. */
export const noChain: ProviderChain = { account: null, responseId: null, previousResponseId: null, expiresAt: null };

/** A turn that is running, or whose process has died. */
export interface PendingTurn extends TurnFacts {
  status: "pending";
  /** The highest sequence number of the session, plus 1 (T1). The store assigns it. */
  sequence: number;
  blobs: TurnBlobs;
  warnings: Warning[];
  /** The process that runs the turn. `leaseExpiresAt` is the end of its lease, by the clock of the store (R1). */
  runnerId: string;
  leaseExpiresAt: Millis;
}

interface Finished extends TurnFacts {
  sequence: number;
  blobs: TurnBlobs;
  warnings: Warning[];
  /** The time at which the provider's last answer ended. Null if the provider never answered. */
  answeredAt: Millis | null;
  statusAt: Millis;
  run: RunSummary;
  chain: ProviderChain;
  /** SHA-256 over the digest of the parent, the manifest and the blobs (D2). Null for a turn that was never sealed. */
  digest: string | null;
  /** The key by which a client that sends its whole history finds the turn (O5). Absent: it cannot be found so. */
  historyKey?: string;
  /** The time at which a person deleted the id of the turn (O2). The turn remains for the turns that need it. */
  hiddenAt?: Millis;
}

/** A turn that ended with an answer. */
export interface CompletedTurn extends Finished {
  status: "completed";
  stopReason: StopReason;
  answerSummary: string;
  /** The last message of an answer that has several. Null if it is the whole answer. */
  finalMessage: string | null;
}

/** A turn that ended with tool calls that the caller must answer (V5). */
export interface AwaitingTurn extends Finished {
  status: "awaiting_tool_results";
  stopReason: "tool_calls";
  answerSummary: string;
  finalMessage: string | null;
  deferredCalls: DeferredCall[];
}

/** A turn that ended with an error. Its output, if any, is kept (T12). */
export interface FailedTurn extends Finished {
  status: "failed";
  failures: [Failure, ...Failure[]];
}

/** A failed turn that had done something before. It has a state, so it can be continued (T12). */
export interface SealedFailure extends FailedTurn {
  blobs: TurnBlobs & { state: string };
}

/** A finished turn that was archived. It stays readable; `was` holds its outcome. */
export interface ArchivedTurn extends Finished {
  status: "archived";
  was: Outcome;
}

/** The fields that differ between the outcomes. */
type Outcome =
  | Pick<CompletedTurn, "status" | "stopReason" | "answerSummary" | "finalMessage">
  | Pick<AwaitingTurn, "status" | "stopReason" | "answerSummary" | "finalMessage" | "deferredCalls">
  | Pick<FailedTurn, "status" | "failures">;

export type FinishedTurn = CompletedTurn | AwaitingTurn | FailedTurn;
export type Turn = PendingTurn | FinishedTurn | ArchivedTurn;

/** A turn that will be opened. The store assigns its sequence number and its lease. */
export type TurnDraft = Omit<PendingTurn, "sequence" | "leaseExpiresAt">;

/** The facts that every end of a turn has. */
export interface RunEnd {
  at: Millis;
  answeredAt: Millis | null;
  blobs: TurnBlobs;
  warnings: Warning[];
  run: RunSummary;
  chain: ProviderChain;
  digest: string | null;
  historyKey?: string;
}

/** What the model answered. */
export interface RunOutput {
  stopReason: StopReason;
  answer: string;
  lastMessage: string;
}

function finished(turn: PendingTurn, end: RunEnd): Finished {
  const { status: _status, runnerId: _runner, leaseExpiresAt: _lease, ...facts } = turn;
  return {
    ...facts,
    blobs: end.blobs,
    warnings: end.warnings,
    answeredAt: end.answeredAt,
    statusAt: end.at,
    run: end.run,
    chain: end.chain,
    digest: end.digest,
    ...(end.historyKey !== undefined && { historyKey: end.historyKey }),
  };
}

/** Returns the turn with its answer. */
export function completeTurn(turn: PendingTurn, output: RunOutput, end: RunEnd): CompletedTurn {
  return {
    ...finished(turn, end),
    status: "completed",
    stopReason: output.stopReason,
    answerSummary: summarize(output.answer),
    finalMessage: output.lastMessage === output.answer ? null : output.lastMessage,
  };
}

/** Returns the turn with the tool calls that it waits for. */
export function parkTurn(
  turn: PendingTurn,
  output: RunOutput & { deferredCalls: DeferredCall[] },
  end: RunEnd,
): AwaitingTurn {
  return {
    ...finished(turn, end),
    status: "awaiting_tool_results",
    stopReason: "tool_calls",
    answerSummary: summarize(output.answer),
    finalMessage: output.lastMessage === output.answer ? null : output.lastMessage,
    deferredCalls: output.deferredCalls,
  };
}

/** Returns the turn with the reason of its failure. */
export function failTurn(turn: PendingTurn, reason: Failure, end: RunEnd): FailedTurn {
  return { ...finished(turn, end), status: "failed", failures: [reason] };
}

/** Returns the turn as archived. */
export function archiveTurn(turn: FinishedTurn, at: Millis): ArchivedTurn {
  switch (turn.status) {
    case "completed": {
      const { status, stopReason, answerSummary, finalMessage, ...rest } = turn;
      return { ...rest, statusAt: at, status: "archived", was: { status, stopReason, answerSummary, finalMessage } };
    }
    case "awaiting_tool_results": {
      const { status, stopReason, answerSummary, finalMessage, deferredCalls, ...rest } = turn;
      const was = { status, stopReason, answerSummary, finalMessage, deferredCalls };
      return { ...rest, statusAt: at, status: "archived", was };
    }
    case "failed": {
      const { status, failures, ...rest } = turn;
      return { ...rest, statusAt: at, status: "archived", was: { status, failures } };
    }
  }
}

/** Returns the archived turn as it was before. The time of its status stays that of the archiving. */
export function beforeArchiving({ was, ...turn }: ArchivedTurn): FinishedTurn {
  return { ...turn, ...was };
}

/**
 * Returns the keys of the blobs of the turn's input, including those that earlier turns brought (I1), and of the source of
 * a turn that another tool ran (O8).
 */
export function partBlobs({ input = [], foreign }: Pick<TurnFacts, "input" | "foreign">): string[] {
  const parts = input.flatMap(({ content }) => (content === null ? [] : [content.blob]));
  return foreign === undefined ? parts : [...parts, foreign.source.blob];
}

/** A turn whose history can be continued. */
export type ContinuableTurn = CompletedTurn | AwaitingTurn | SealedFailure;

/**
 * Returns true if the history of the turn can be continued. A failed turn has a state only if it had done something
 * (T12).
 */
export function hasHistory(turn: Turn): turn is ContinuableTurn {
  switch (turn.status) {
    case "completed":
    case "awaiting_tool_results":
      return true;
    case "failed":
      return turn.blobs.state !== null;
    case "pending":
    case "archived":
      return false;
  }
}

/** Returns true if a turn can be continued, and so can be the head of a session (S5, T12). */
export function mayBeParent(turn: Turn): turn is ContinuableTurn {
  return turn.kind === "agent" && hasHistory(turn);
}

/** Returns true if a person deleted the id of the turn (O2). */
export function isHidden(turn: Turn): boolean {
  return turn.status !== "pending" && turn.hiddenAt !== undefined;
}

/** Returns the message for the mailbox of the session. Null if the turn is not a turn of a subagent (A2). */
export function messageOf(turn: FinishedTurn): MailboxDraft | null {
  const { id: turnId, sessionId, subagent, statusAt: createdAt } = turn;
  if (subagent === undefined) return null;
  const kind = turn.status === "failed" ? "subagent_failed" : "subagent_result";
  return { turnId, sessionId, kind, subagentId: subagent.id, name: subagent.name, createdAt };
}

/**
 * Returns the first 1,024 characters (T4) in a form that every database can store: no half of a surrogate pair, and
 * U+FFFD instead of NUL, which PostgreSQL refuses. The blob keeps the text unchanged.
 */
export function summarize(text: string): string {
  const cut = text.slice(0, limits.summaryCharactersMax);
  const whole = cut.length < text.length ? cut.replace(/[\uD800-\uDBFF]$/, "") : cut;
  return whole.toWellFormed().replaceAll("\u0000", "\uFFFD");
}
