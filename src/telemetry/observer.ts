/**
 * The contract for logs, metrics and traces. The engine and the doors report what begins, how it ends, and what happens in
 * between. An observer cannot change a run.
 *
 * An observer must never throw and never wait, and it must be cheap: some methods are called many times in a turn. It receives
 * no contents and no secrets (E8): no instruction, answer, argument, path or key. The ids are for logs and traces. Metrics must
 * not use an id, a user or a path as a label, because their number has no bound.
 */
import type { BudgetScope } from "../domain/budget.ts";
import type { ErrorCode } from "../domain/errors.ts";
import type { Usage } from "../domain/usage.ts";

export interface Observer {
  /** Reports a request to a door. */
  request(begun: RequestBegun): Activity<RequestEnded>;
  /** Reports a turn, from its acceptance until it is stored or refused. */
  turn(begun: TurnBegun): Activity<TurnEnded>;
  /** Reports that this server ends a turn that no process runs any more (R2). */
  recovery(begun: RecoveryBegun): Activity<RecoveryEnded>;
  /** Reports one request to a provider. */
  modelCall(begun: ModelCallBegun): Activity<ModelCallEnded>;
  /** Reports one call of a tool that runs in this process. */
  toolCall(begun: ToolCallBegun): Activity<ToolCallEnded>;
  /** Reports one call of a store. */
  storeCall(begun: StoreCallBegun): Activity<StoreCallEnded>;
  /** Reports an open stream of events. The activity ends when its listener leaves. */
  stream(): Activity<void>;
  note(note: ObserverNote): void;
}

export interface Activity<End> {
  /** Runs the work as a part of the activity. Every activity that begins in it, also later, is a child of this one. */
  within<T>(work: () => T): T;
  /** Called once, when the activity has ended. */
  end(end: End): void;
}

export interface RequestBegun {
  requestId: string;
  method: string;
  /** The W3C trace headers of the client, unchecked. */
  traceparent: string | null;
  tracestate: string | null;
}
export interface RequestEnded {
  /** The template of the path, such as `/api/turns/{id}`. Null: no route matches. */
  route: string | null;
  status: number;
  /** The error code of a refusal. */
  code: ErrorCode | null;
  caller: CallerIds | null;
}

export interface CallerIds {
  orgId: string;
  userId: string;
}

export interface TurnBegun {
  turnId: string;
  sessionId: string;
  provider: string;
  model: string;
  caller: CallerIds;
}
export interface TurnEnded {
  /** How the turn ended. `server_stopped`: this server stopped before it. `refused`: it was never opened, and nothing of it is stored. */
  outcome: "completed" | "awaiting_tool_results" | "failed" | "server_stopped" | "refused" | "repeated";
  code: ErrorCode | null;
  usage: Usage;
  modelRequests: number;
  /** Milliseconds of the turn without the model, the tools and the pauses before retries. Null: it did not run. */
  overheadMs: number | null;
  /** Milliseconds until a listener could see the first output. Null: there was none. */
  firstOutputMs: number | null;
}

export interface RecoveryBegun {
  turnId: string;
  sessionId: string;
  /** The process that ran the turn. */
  lostBy: { runnerId: string; host: string | null; pid: number | null };
}
export interface RecoveryEnded {
  /** `left`: another server ends the turn. `failed`: it will be tried again. */
  outcome: "recovered" | "left" | "failed";
  /** Why the turn failed, or why it could not be ended. */
  code: ErrorCode | null;
}

export interface ModelCallBegun {
  turnId: string;
  /** Number of the step, from 1. */
  step: number;
  provider: string;
  model: string;
}
export interface ModelCallEnded {
  /** The model's name in the provider's response. */
  model: string;
  responseId: string | null;
  stopReason: string | null;
  /** The error code. Null: the provider answered. */
  code: ErrorCode | null;
  usage: Usage;
  firstOutputMs: number | null;
}

export interface ToolCallBegun {
  turnId: string;
  callId: string;
  name: string;
}
export interface ToolCallEnded {
  isError: boolean;
}

export type StoreName = "records" | "blobs" | "live" | "retrieval";
export interface StoreCallBegun {
  store: StoreName;
  /** The method of the store's contract. */
  operation: string;
}
export interface StoreCallEnded {
  /** The error code. Null: the call succeeded. */
  code: ErrorCode | null;
}

export interface ServerStarted {
  type: "server_started";
  version: string;
  url: string;
  pid: number;
  dataFolder: string;
  /** The kinds of the stores, without their addresses. */
  records: string;
  blobs: string;
  liveLog: string;
  /** The files and other places that set values of the configuration. */
  configuredBy: string;
}

/** An event without a duration. */
export type ObserverNote =
  | { type: "model_retried"; provider: string; code: ErrorCode }
  | { type: "chain_rebuilt"; provider: string }
  /** A call of a model was not made, because it could pass a budget, or has no known price (F11). */
  | { type: "budget_refused"; scope: BudgetScope; waits: boolean }
  /** A check of readiness has looked at a store. */
  | { type: "store_checked"; store: StoreName; isReady: boolean }
  /** A server of this process listens. */
  | ServerStarted
  /** A token of the identity provider was refused. `reason` is a word of a fixed set (H4). */
  | { type: "token_refused"; reason: string }
  /** This server renewed its leases (R1), this many milliseconds too late. */
  | { type: "leases_renewed"; lateMs: number; code: ErrorCode | null };

const nothing: Activity<unknown> = { within: (work) => work(), end: () => undefined };

/** An observer that does nothing, at no cost. */
export const noObserver: Observer = {
  request: () => nothing,
  turn: () => nothing,
  recovery: () => nothing,
  modelCall: () => nothing,
  toolCall: () => nothing,
  storeCall: () => nothing,
  stream: () => nothing,
  note: () => undefined,
};

/** Returns true if the observer does something at calls of stores. They are the most frequent calls. */
export function observesStores({ storeCall }: Observer): boolean {
  return storeCall !== noObserver.storeCall;
}

/** Combines observers. Each receives the methods that it has. Work runs innermost within the activity of the last one. */
export function observers(all: readonly Partial<Observer>[]): Observer {
  if (all.length === 0) return noObserver;
  const [only] = all;
  if (all.length === 1 && only !== undefined) return { ...noObserver, ...only };
  const ofStores = all.filter(({ storeCall }) => storeCall !== undefined);
  return {
    request: (begun) => together(all.flatMap((one) => one.request?.(begun) ?? [])),
    turn: (begun) => together(all.flatMap((one) => one.turn?.(begun) ?? [])),
    recovery: (begun) => together(all.flatMap((one) => one.recovery?.(begun) ?? [])),
    modelCall: (begun) => together(all.flatMap((one) => one.modelCall?.(begun) ?? [])),
    toolCall: (begun) => together(all.flatMap((one) => one.toolCall?.(begun) ?? [])),
    storeCall:
      ofStores.length === 0
        ? noObserver.storeCall
        : (begun) => together(ofStores.flatMap((one) => one.storeCall?.(begun) ?? [])),
    stream: () => together(all.flatMap((one) => one.stream?.() ?? [])),
    note: (note) => {
      for (const one of all) one.note?.(note);
    },
  };
}

function together<End>(activities: readonly Activity<End>[]): Activity<End> {
  return {
    within: <T>(work: () => T): T =>
      activities.reduceRight<() => T>((inner, activity) => () => activity.within(inner), work)(),
    end: (end) => {
      for (const activity of activities) activity.end(end);
    },
  };
}
