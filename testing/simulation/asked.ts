/**
 * The requests to the engines, and the observed actions of models and tools for them. This is what the naive
 * model knows. Nothing of it comes from the stores.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import type { AptoveError, ErrorCode } from "../../src/domain/errors.ts";
import type { HistoryItem } from "../../src/domain/history.ts";
import type { ToolFeedback } from "../../src/domain/tool.ts";
import type { FinishedTurn } from "../../src/domain/turn.ts";
import type { SequencedEvent } from "../../src/domain/events.ts";
import type { TurnRequest } from "../../src/engine/engine.ts";
import type { ProviderFailed, ProviderFinished } from "../../src/providers/provider.ts";
import type { Random } from "./random.ts";

/** The facts about a process that matter here. */
export interface Living {
  readonly name: string;
  isDead: boolean;
}

/** A request for a turn. Requests with the same idempotency key are one (T13). */
export interface Asked {
  number: number;
  /** A mark in the turn's row, so that a turn is found although its process died before it got the id. */
  marker: string;
  request: TurnRequest;
  /** The settings that a rerun repeats from its turn, if it repeats them. */
  instruction: string;
  feedback: ToolFeedback[];
  /** True if the request must always be refused. */
  mustRefuse: ErrorCode | null;
  /** The session and the turn that the request names. Their state may be a reason to refuse it. */
  sessionId: string | null;
  turnId: string | null;
  attempts: Attempt[];
  exchanges: SeenExchange[];
  toolRuns: SeenToolRun[];
  /** The number of failed store calls of this turn. */
  faults: number;
  /** The time of the request, by the world's clock. */
  at: number;
  random: Random;
  /** True if the model calls the same tool again and again. */
  isEndless: boolean;
}

export interface Attempt {
  process: Living;
  /** True if the process was asked to end. */
  isClosing(): boolean;
  outcome: { turnId: string; sessionId: string; isRepeat: boolean } | { refused: AptoveError } | null;
  finished: FinishedTurn | null;
  /** The events that a listener received from the first on. Null: there was no listener. */
  received: SequencedEvent[] | null;
  /** True if the process lost the turn and sent the listener to another process (R1). */
  isLetGo: boolean;
}

/** One model call, as its provider saw it. */
export interface SeenExchange {
  provider: string;
  body: string;
  /** The request. Null: the call was stopped before it was sent. */
  shown: { prompt: string | null; context: HistoryItem[] } | null;
  /** True if the call continued a stored response of the provider (C1). */
  isChained: boolean;
  /** True if the engine requested a summary of the history (C6). */
  isSummary: boolean;
  /** The complete items that the engine received. */
  items: HistoryItem[];
  /** The text of the incomplete message. */
  openText: string;
  bytes: Uint8Array[];
  end: ProviderFinished | ProviderFailed | null;
}

export interface SeenToolRun {
  callId: string;
  turnId: string;
  outcome: { output: string; isError: boolean } | "threw" | "late" | "stopped" | null;
}

const asking = new AsyncLocalStorage<{ asked: Asked; process: Living } | undefined>();

/** Runs the engine's work for this request, so that store and model calls within it can be assigned to the request. */
export function onBehalf<T>(asked: Asked, process: Living, run: () => Promise<T>): Promise<T> {
  return asking.run({ asked, process }, run);
}

export function onNobodysBehalf<T>(run: () => Promise<T>): Promise<T> {
  return asking.run(undefined, run);
}

export function currentAsked(): Asked | undefined {
  return asking.getStore()?.asked;
}

export function currentProcess(): Living | undefined {
  return asking.getStore()?.process;
}
