/**
 * The contract for whoever watches the program run: logs, metrics, traces. The engine and the doors tell what begins, how it
 * ended and what happened in between; an observer makes of it what it likes, and nothing that it does changes a run.
 *
 * What an observer must do: never throw, never wait, and cost little: some of this is told many times in a turn. It is told no
 * contents and no secrets (E8): no instruction, answer, argument, path or key. Ids are there for logs and traces; what counts
 * things must not tell them apart by an id, a user or a path, of which there is no end.
 */
import type { ErrorCode } from "../domain/errors.ts";
import type { Usage } from "../domain/usage.ts";

export interface Observer {
  /** A request to a door. */
  request(begun: RequestBegun): Activity<RequestEnded>;
  /** A turn, from when it is accepted to when it is stored or refused. */
  turn(begun: TurnBegun): Activity<TurnEnded>;
  /** One request to a provider. */
  modelCall(begun: ModelCallBegun): Activity<ModelCallEnded>;
  /** A tool that runs beside the engine. */
  toolCall(begun: ToolCallBegun): Activity<ToolCallEnded>;
  /** One call of a store. */
  storeCall(begun: StoreCallBegun): Activity<StoreCallEnded>;
  /** Somebody listens to events, for as long as they do. */
  stream(): Activity<void>;
  note(note: Note): void;
}

export interface Activity<End> {
  /** Does the work as a part of the activity: what begins in it, also later, has it as its parent. */
  within<T>(work: () => T): T;
  /** Told once. */
  end(end: End): void;
}

export interface RequestBegun {
  requestId: string;
  method: string;
  /** The W3C headers of whoever called, as they came. */
  traceparent: string | null;
  tracestate: string | null;
}
export interface RequestEnded {
  /** The template of the path (`/api/turns/{id}`); null: there is no such route. */
  route: string | null;
  status: number;
  /** Of a refusal. */
  code: ErrorCode | null;
  caller: Who | null;
}

export interface Who {
  orgId: string;
  userId: string;
}

export interface TurnBegun {
  turnId: string;
  sessionId: string;
  provider: string;
  model: string;
  caller: Who;
}
export interface TurnEnded {
  /** `refused`: it was not opened, and left nothing behind. */
  outcome: "completed" | "awaiting_tool_results" | "failed" | "refused" | "repeated";
  code: ErrorCode | null;
  usage: Usage;
  modelRequests: number;
  /** What the turn took beside the model, its tools and pauses between tries; null: it did not run. */
  overheadMs: number | null;
  /** Until somebody could see the first word; null: there was none. */
  firstOutputMs: number | null;
}

export interface ModelCallBegun {
  turnId: string;
  /** From 1. */
  step: number;
  provider: string;
  model: string;
}
export interface ModelCallEnded {
  /** As the provider named it. */
  model: string;
  responseId: string | null;
  stopReason: string | null;
  /** Null: it answered. */
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
  /** The method of its contract. */
  operation: string;
}
export interface StoreCallEnded {
  /** Null: it did what it was asked. */
  code: ErrorCode | null;
}

/** What happens in a moment. */
export type Note =
  | { type: "model_retried"; provider: string; code: ErrorCode }
  | { type: "chain_rebuilt"; provider: string }
  /** Turns that ran nowhere any more, whichever server had run them, and that this one failed (R2). */
  | { type: "turns_recovered"; count: number }
  /** A round in which leases are renewed (R1), and by how much it came too late. */
  | { type: "leases_renewed"; lateMs: number; code: ErrorCode | null };

const nothing: Activity<unknown> = { within: (work) => work(), end: () => undefined };

/** Looks away, at no cost. */
export const noObserver: Observer = {
  request: () => nothing,
  turn: () => nothing,
  modelCall: () => nothing,
  toolCall: () => nothing,
  storeCall: () => nothing,
  stream: () => nothing,
  note: () => undefined,
};

/** Several as one, each with what it cares for. Work runs within the last one innermost. */
export function observers(all: readonly Partial<Observer>[]): Observer {
  if (all.length === 0) return noObserver;
  const [only] = all;
  if (all.length === 1 && only !== undefined) return { ...noObserver, ...only };
  return {
    request: (begun) => together(all.flatMap((one) => one.request?.(begun) ?? [])),
    turn: (begun) => together(all.flatMap((one) => one.turn?.(begun) ?? [])),
    modelCall: (begun) => together(all.flatMap((one) => one.modelCall?.(begun) ?? [])),
    toolCall: (begun) => together(all.flatMap((one) => one.toolCall?.(begun) ?? [])),
    storeCall: (begun) => together(all.flatMap((one) => one.storeCall?.(begun) ?? [])),
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
