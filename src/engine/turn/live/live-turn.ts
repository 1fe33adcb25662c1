/**
 * The life of a turn in this process, as a union by state: what only one state has cannot be read in another. The functions
 * here are the only way from one state to the next, and `until` is the only way to wait for one.
 *
 *     preparing → running → settling → stored       its end is in the store, and all its events are known here
 *         │          │          ├────→ unwritten    its end could not be written
 *         └────→ lost ──────────┘└───→ closed       the store has the last word
 *
 * A turn that is refused before it has a row goes from `preparing` to `closed`.
 */
import type { Failure } from "../../../domain/errors.ts";
import type { TurnEvent } from "../../../domain/events.ts";
import type { SubagentRef } from "../../../domain/subagent.ts";
import type { FinishedTurn } from "../../../domain/turn.ts";
import type { AcceptedRequest } from "../prepare/accepted-request.ts";
import type { RunRecorder } from "./run-recorder.ts";
import { SteerQueue } from "./steer-queue.ts";
import { unwatched, type TurnWatch } from "./turn-watch.ts";

/** Its row is not known to be written yet. */
export interface PreparingState {
  name: "preparing";
  /** The session that decides who may see the turn: its own, or for a new session the one that it is forked from. */
  visibleBy: string;
}

/** It has a row, and its model and its tools run. */
export interface RunningState {
  name: "running";
  /** The request and the recorder, for what a tool begins beside the turn (A1). */
  accepted: AcceptedRequest;
  recorder: RunRecorder;
  subagentsBegun: number;
}

/** Its lease is lost while it runs: it is being stopped, and may not act any more (R1). Its listeners are released. */
export interface LostState {
  name: "lost";
}

/** The run is over, and its end is being written. */
export interface SettlingState {
  name: "settling";
  /** True if its lease is lost, before or since. The store takes the end or refuses it. */
  wasLost: boolean;
}

/** The end is in the store. The session is free, though the live log may still be there (T5). */
export interface StoredState {
  name: "stored";
  /** All events of the turn: a listener in this process need not read them back. */
  events: readonly TurnEvent[];
}

/** The end could not be written: a recovery will fail the turn (R2). Its listeners get the reason, and no end that is not kept (T11, V2). */
export interface UnwrittenState {
  name: "unwritten";
  reason: Failure;
}

/**
 * This process is done with the turn, and knows no more of its end than the store has: the store refused our end, or keeps
 * only the row of it, or the turn was never opened.
 */
export interface ClosedState {
  name: "closed";
  /** True if its lease was lost: what this process added to the live log since is perhaps not kept. */
  wasLost: boolean;
}

export type LiveTurnState =
  | PreparingState
  | RunningState
  | LostState
  | SettlingState
  | StoredState
  | UnwrittenState
  | ClosedState;

/** The turn has its row. A turn that lost its lease meanwhile stays lost. */
export function toRunning(state: LiveTurnState, run: Omit<RunningState, "name">): LiveTurnState {
  return state.name === "preparing" ? { name: "running", ...run } : state;
}

/** The lease is lost. An end that is in the store already, or that the store refused, is not changed by that. */
export function toLost(state: LiveTurnState): LiveTurnState {
  switch (state.name) {
    case "preparing":
    case "running":
      return { name: "lost" };
    case "settling":
      return { name: "settling", wasLost: true };
    case "unwritten":
      return { name: "closed", wasLost: true };
    case "lost":
    case "stored":
    case "closed":
      return state;
  }
}

/** The run is over. */
export function toSettling(state: LiveTurnState): LiveTurnState {
  switch (state.name) {
    case "preparing":
    case "running":
      return { name: "settling", wasLost: false };
    case "lost":
      return { name: "settling", wasLost: true };
    case "settling":
    case "stored":
    case "unwritten":
    case "closed":
      return state;
  }
}

/** The store has taken the end, which has these events. */
export function toStored(_state: LiveTurnState, events: readonly TurnEvent[]): LiveTurnState {
  return { name: "stored", events };
}

/** The end could not be written. What the store has taken or refused before stays so. */
export function toUnwritten(state: LiveTurnState, reason: Failure): LiveTurnState {
  if (state.name === "stored") return state;
  return hasLostLease(state) ? { name: "closed", wasLost: true } : { name: "unwritten", reason };
}

/** This process does nothing more for the turn. */
export function toClosed(state: LiveTurnState): LiveTurnState {
  switch (state.name) {
    case "preparing":
    case "running":
    case "lost":
    case "settling":
      return { name: "closed", wasLost: hasLostLease(state) };
    case "stored":
    case "unwritten":
    case "closed":
      return state;
  }
}

/** Whether the turn may not act any more, and what this process says of it may not be shown (R1). */
export function hasLostLease(state: LiveTurnState): boolean {
  switch (state.name) {
    case "lost":
      return true;
    case "settling":
    case "closed":
      return state.wasLost;
    case "preparing":
    case "running":
    case "stored":
    case "unwritten":
      return false;
  }
}

/** Whether the session still waits for the turn: controls reach it here, and an agent's turn keeps its session busy (T5). */
export function keepsSessionBusy({ name }: LiveTurnState): boolean {
  return name !== "stored" && name !== "closed";
}

/** Whether listeners can expect nothing more from the run: they read what there is, and leave. */
export function isOver({ name }: LiveTurnState): boolean {
  return name !== "preparing" && name !== "running" && name !== "settling";
}

export interface LiveTurnFacts {
  turnId: string;
  sessionId: string;
  /** See `PreparingState`. */
  visibleBy: string;
  /** The user who made the request. */
  startedBy: string;
  /** Null for a turn of the session's agent, which the session is busy with (T5). */
  subagent?: SubagentRef | null;
  /** Absent: no observer is informed of it. */
  watch?: TurnWatch;
}

/** A turn that this process runs. */
export class LiveTurn {
  readonly turnId: string;
  readonly sessionId: string;
  /** The user who made the request. */
  readonly startedBy: string;
  /** Null for a turn of the session's agent, which the session is busy with (T5). */
  readonly subagent: SubagentRef | null;
  readonly watch: TurnWatch;
  /** Messages for the model's next step (V4). */
  readonly steers = new SteerQueue();
  /** The time until which its lease lasts at least, by `EngineDependencies.monotonic`; infinite until it has one (R1). */
  leaseUntil = Infinity;
  readonly #stopping = new AbortController();
  readonly #finishing = Promise.withResolvers<FinishedTurn | null>();
  readonly #listeners = new Set<() => void>();
  #state: LiveTurnState;

  constructor({ turnId, sessionId, visibleBy, startedBy, subagent = null, watch = unwatched() }: LiveTurnFacts) {
    this.turnId = turnId;
    this.sessionId = sessionId;
    this.startedBy = startedBy;
    this.subagent = subagent;
    this.watch = watch;
    this.#state = { name: "preparing", visibleBy };
  }

  get state(): LiveTurnState {
    return this.#state;
  }

  /** Aborts when the turn is stopped: interrupted, lost, or at the end of the process. */
  get signal(): AbortSignal {
    return this.#stopping.signal;
  }

  /** Stops the model and the tools of the turn. Stopping it twice is no error. */
  stop(): void {
    this.#stopping.abort();
  }

  /** The turn as it finished; null if it was refused before it was open. */
  get finished(): Promise<FinishedTurn | null> {
    return this.#finishing.promise;
  }

  finish(turn: FinishedTurn | null): void {
    this.#finishing.resolve(turn);
  }

  run({ accepted, recorder }: Pick<RunningState, "accepted" | "recorder">): void {
    this.#move(toRunning(this.#state, { accepted, recorder, subagentsBegun: 0 }));
  }

  /** Returns whether this changed anything: a lease is lost once. */
  lose(): boolean {
    return this.#move(toLost(this.#state));
  }

  settle(): void {
    this.#move(toSettling(this.#state));
  }

  store(events: readonly TurnEvent[]): void {
    this.#move(toStored(this.#state, events));
  }

  leaveUnwritten(reason: Failure): void {
    this.#move(toUnwritten(this.#state, reason));
  }

  close(): void {
    this.#move(toClosed(this.#state));
  }

  /** Resolves once the test passes; it is tried at each change of the state, and when the turn leaves the registry. */
  async until(test: () => boolean): Promise<void> {
    if (test()) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const unsubscribe = this.onChange(() => {
      if (test()) resolve();
    });
    await promise;
    unsubscribe();
  }

  /** Calls the listener after each change, at once. Returns what unsubscribes it. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** For the registry: the turn has left it. */
  leave(): void {
    this.close();
    this.finish(null);
    this.#notify();
  }

  #move(next: LiveTurnState): boolean {
    if (next === this.#state) return false;
    this.#state = next;
    this.#notify();
    return true;
  }

  #notify(): void {
    for (const listener of [...this.#listeners]) listener();
  }
}
