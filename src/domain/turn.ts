/**
 * A turn: one instruction and its outcome, an immutable node of the session's tree. It is a union by
 * status, so that a completed turn without an answer, or a failed one without an error, cannot be written
 * (T3). Functions here are the only way from one member to another (T2); the store makes each of them a
 * conditional write on the status that it leaves.
 */
import type { ContextManifest } from "./context.ts";
import type { Failure, Warning } from "./errors.ts";
import type { StopReason } from "./events.ts";
import type { Millis } from "./ids.ts";
import type { TurnPart } from "./input-part.ts";
import { limits } from "./limits.ts";
import type { MailboxDraft } from "./mailbox.ts";
import type { SubagentRef } from "./subagent.ts";
import type { DeferredCall } from "./tool.ts";
import type { RunSummary } from "./usage.ts";

export type TurnStatus = "pending" | "completed" | "awaiting_tool_results" | "failed" | "archived";
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
}

/** Keys of the turn's blobs; see docs/formats. Null: there is no such blob. */
export interface TurnBlobs {
  /** The full instruction, the user message as sent, and the first request (E7). */
  opening: string;
  /** Events and responses; holds the answer and partial output too. */
  run: string | null;
  /** History since the base turn (K2); only turns that may be a parent have one. */
  state: string | null;
}

/** The provider's memory of this turn (C2). */
export interface ProviderChain {
  /** The account that the response belongs to, as the provider's driver names it; null where there is none. */
  account: string | null;
  /** The response that the next turn may continue; null when the provider keeps none. */
  responseId: string | null;
  previousResponseId: string | null;
  expiresAt: Millis | null;
}

export interface PendingTurn extends TurnFacts {
  status: "pending";
  /** Last of the session + 1 (T1); given by the store. */
  sequence: number;
  blobs: TurnBlobs;
  warnings: Warning[];
  /** The process that runs it, and until when it may, by the clock of the store (R1). */
  runnerId: string;
  leaseExpiresAt: Millis;
}

interface Finished extends TurnFacts {
  sequence: number;
  blobs: TurnBlobs;
  warnings: Warning[];
  /** When the provider's last answer ended; null if it never answered. */
  answeredAt: Millis | null;
  statusAt: Millis;
  run: RunSummary;
  chain: ProviderChain;
  /** SHA-256 over the parent's digest, the manifest and the blobs (D2); null for a turn that was never sealed. */
  digest: string | null;
}

export interface CompletedTurn extends Finished {
  status: "completed";
  stopReason: StopReason;
  answerSummary: string;
  /** The last message, where the answer has several; null where it is the whole answer. */
  finalMessage: string | null;
}

export interface AwaitingTurn extends Finished {
  status: "awaiting_tool_results";
  stopReason: "tool_calls";
  answerSummary: string;
  finalMessage: string | null;
  deferredCalls: DeferredCall[];
}

export interface FailedTurn extends Finished {
  status: "failed";
  failures: [Failure, ...Failure[]];
}

/** A finished turn that was put away; what it was stays readable. */
export interface ArchivedTurn extends Finished {
  status: "archived";
  was: Outcome;
}

/** The members' own fields. */
type Outcome =
  | Pick<CompletedTurn, "status" | "stopReason" | "answerSummary" | "finalMessage">
  | Pick<AwaitingTurn, "status" | "stopReason" | "answerSummary" | "finalMessage" | "deferredCalls">
  | Pick<FailedTurn, "status" | "failures">;

export type FinishedTurn = CompletedTurn | AwaitingTurn | FailedTurn;
export type Turn = PendingTurn | FinishedTurn | ArchivedTurn;

/** A turn that is about to be opened: the store gives it its sequence number and its lease. */
export type TurnDraft = Omit<PendingTurn, "sequence" | "leaseExpiresAt">;

/** What every end of a run has in common. */
export interface RunEnd {
  at: Millis;
  answeredAt: Millis | null;
  blobs: TurnBlobs;
  warnings: Warning[];
  run: RunSummary;
  chain: ProviderChain;
  digest: string | null;
}

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
  };
}

export function completeTurn(turn: PendingTurn, output: RunOutput, end: RunEnd): CompletedTurn {
  return {
    ...finished(turn, end),
    status: "completed",
    stopReason: output.stopReason,
    answerSummary: summarize(output.answer),
    finalMessage: output.lastMessage === output.answer ? null : output.lastMessage,
  };
}

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

export function failTurn(turn: PendingTurn, reason: Failure, end: RunEnd): FailedTurn {
  return { ...finished(turn, end), status: "failed", failures: [reason] };
}

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

/** The blobs of the turn's input, its own and those that turns above it brought (I1). */
export function partBlobs({ input = [] }: Pick<TurnFacts, "input">): string[] {
  return input.flatMap(({ content }) => (content === null ? [] : [content.blob]));
}

/** Whether a turn may be continued and be a session's head (S5, T12). */
export function mayBeParent(turn: Turn): turn is CompletedTurn | AwaitingTurn {
  return turn.kind === "agent" && (turn.status === "completed" || turn.status === "awaiting_tool_results");
}

/** The message that tells the session's mailbox of a subagent's turn; null: the turn is no subagent's (A2). */
export function messageOf(turn: FinishedTurn): MailboxDraft | null {
  const { id: turnId, sessionId, subagent, statusAt: createdAt } = turn;
  if (subagent === undefined) return null;
  const kind = turn.status === "failed" ? "subagent_failed" : "subagent_result";
  return { turnId, sessionId, kind, subagentId: subagent.id, name: subagent.name, createdAt };
}

/**
 * T4: the first 1,024 characters, as every database can keep them: never half a surrogate pair, and a NUL,
 * which PostgreSQL refuses in text, becomes U+FFFD. The blob keeps the text as it was.
 */
export function summarize(text: string): string {
  const cut = text.slice(0, limits.summaryCharactersMax);
  const whole = cut.length < text.length ? cut.replace(/[\uD800-\uDBFF]$/, "") : cut;
  return whole.toWellFormed().replaceAll("\u0000", "\uFFFD");
}
