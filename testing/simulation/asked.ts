/**
 * What was asked of the engines, and what the model and the tools were seen to do for it. This is what the naive
 * model knows; nothing of it comes from the stores.
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

/** A process that runs an engine, as far as it matters here. */
export interface Living {
  readonly name: string;
  isDead: boolean;
}

/** A request for a turn. Two that are the same by their idempotency key are one (T13). */
export interface Asked {
  number: number;
  /** In every turn's row, so that a turn is found whose maker never received of it. */
  marker: string;
  request: TurnRequest;
  /** Of a rerun: those of the turn that it repeats, where it repeats them. */
  instruction: string;
  feedback: ToolFeedback[];
  /** It must never be taken. */
  mustRefuse: ErrorCode | null;
  /** The session and the turn that it names; what they are may be a reason to refuse it. */
  sessionId: string | null;
  turnId: string | null;
  attempts: Attempt[];
  exchanges: SeenExchange[];
  toolRuns: SeenToolRun[];
  /** Calls to stores that were made for this turn and failed. */
  faults: number;
  /** When it was asked, by the world's clock. */
  at: number;
  random: Random;
  /** The model calls the same tool for ever. */
  isEndless: boolean;
}

export interface Attempt {
  process: Living;
  /** Whether the process was told to end. */
  isClosing(): boolean;
  outcome: { turnId: string; sessionId: string; isRepeat: boolean } | { refused: AptoveError } | null;
  finished: FinishedTurn | null;
  /** What a listener got from the first event on; null: nobody listened. */
  received: SequencedEvent[] | null;
  /** The process lost the turn, and told the listener to go on elsewhere (R1). */
  isLetGo: boolean;
}

/** One call of a model, as its provider saw it. */
export interface SeenExchange {
  provider: string;
  body: string;
  /** Null: it was stopped before it was sent. */
  shown: { prompt: string | null; context: HistoryItem[] } | null;
  /** It went on from what the provider remembers (C1). */
  isChained: boolean;
  /** The engine asked for a summary of the history (C6). */
  isSummary: boolean;
  /** Whole items that the engine was given. */
  items: HistoryItem[];
  /** The text of the message that is not whole yet. */
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

/** Runs what an engine does for this request; whatever it calls from there knows whom it is for. */
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
