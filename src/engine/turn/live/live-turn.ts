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
import type { SequencedEvent, TurnEvent } from "../../../domain/events.ts";
import type { SubagentRef } from "../../../domain/subagent.ts";
import type { FinishedTurn } from "../../../domain/turn.ts";
import type { AcceptedRequest } from "../prepare/accepted-request.ts";
import { OpenQuestions } from "./open-questions.ts";
import type { RunRecorder } from "./run-recorder.ts";
import { SteerQueue } from "./steer-queue.ts";
import { unwatched, type TurnWatch } from "./turn-watch.ts";

/** The turn is being prepared. Its row is not known to be written. */
export interface PreparingState {
  name: "preparing";
  /** The session that decides who may see the turn: its own, or for a new session the one that it was forked from. */
  visibleBy: string;
}

/** The turn has a row, and its model and tools run. */
export interface RunningState {
  name: "running";
  /** The request and the recorder, for a subagent that a tool starts (A1). */
  accepted: AcceptedRequest;
  recorder: RunRecorder;
  subagentsBegun: number;
}

/**
 * The turn lost its lease while it ran. It is being stopped, and may not act any more (R1). Its listeners are released.
 */
export interface LostState {
  name: "lost";
}

/** The run is over, and its end is being written. */
export interface SettlingState {
  name: "settling";
  /** True if the turn has lost its lease, before or since. The store accepts or refuses the end. */
  wasLost: boolean;
}

/** The end is in the store. The session is free, although the live log may still exist (T5). */
export interface StoredState {
  name: "stored";
  /** All events of the turn. A listener in this process need not read them from the store. */
  events: readonly TurnEvent[];
}

/**
 * The end could not be written. A recovery will fail the turn (R2). Its listeners receive the reason, and no end that
 * is not stored (T11, V2).
 */
export interface UnwrittenState {
  name: "unwritten";
  reason: Failure;
}

/**
 * This process has nothing more to do for the turn, and only the store knows its end: the store refused our end, or
 * keeps only the row of it, or the turn was never opened.
 */
export interface ClosedState {
  name: "closed";
  /** True if the turn had lost its lease. What this process added to the live log after that may not be stored. */
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

/** Returns the state after the row was written. A turn that lost its lease meanwhile stays lost. */
export function toRunning(state: LiveTurnState, run: Omit<RunningState, "name">): LiveTurnState {
  return state.name === "preparing" ? { name: "running", ...run } : state;
}

/**
 * Returns the state after the lease was lost. It does not change an end that is in the store, or that the store
 * refused.
 */
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

/** Returns the state after the run is over. */
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

/** Returns the state after the store has accepted the end. `events` are all events of the turn. */
export function toStored(_state: LiveTurnState, events: readonly TurnEvent[]): LiveTurnState {
  return { name: "stored", events };
}

/**
 * Returns the state after the end could not be written. An end that the store has accepted or refused before stays so.
 */
export function toUnwritten(state: LiveTurnState, reason: Failure): LiveTurnState {
  if (state.name === "stored") return state;
  return hasLostLease(state) ? { name: "closed", wasLost: true } : { name: "unwritten", reason };
}

/** Returns the state of a turn that this process has nothing more to do for. */
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

/** Returns true if the turn may not act any more, so that its new events may not be shown (R1). */
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

/** Returns true if the turn can be controlled here. A turn of the session's agent keeps its session busy (T5). */
export function keepsSessionBusy({ name }: LiveTurnState): boolean {
  return name !== "stored" && name !== "closed";
}

/** Returns true if listeners can expect nothing more from the run. They read what there is, and leave. */
export function isOver({ name }: LiveTurnState): boolean {
  return name !== "preparing" && name !== "running" && name !== "settling";
}

export interface LiveTurnFacts {
  turnId: string;
  sessionId: string;
  /** The session that decides who may see the turn; see `PreparingState`. */
  visibleBy: string;
  /** The user who made the request. */
  startedBy: string;
  /** The subagent whose turn this is. Null for a turn of the session's agent, which keeps the session busy (T5). */
  subagent?: SubagentRef | null;
  /** Informs observers about the turn. Absent: none is informed. */
  watch?: TurnWatch;
}

/** Receives what `LiveTurn.addedEvents` reports. */
type EventsListener = (events: readonly SequencedEvent[] | null) => void;

/** A turn that this process runs. */
export class LiveTurn {
  readonly turnId: string;
  readonly sessionId: string;
  /** The user who made the request. */
  readonly startedBy: string;
  /** The subagent whose turn this is. Null for a turn of the session's agent, which keeps the session busy (T5). */
  readonly subagent: SubagentRef | null;
  readonly watch: TurnWatch;
  /** The messages for the model's next step (V4). */
  readonly steers = new SteerQueue();
  /** The questions that wait for a person (V5). */
  readonly questions = new OpenQuestions();
  /**
   * The time until which the lease lasts at least, by `EngineDependencies.monotonic`. Infinite until the turn has one
   * (R1).
   */
  leaseUntil = Infinity;
  /** True if its calls count for a budget, so that each asks the store first (F11). */
  hasBudget = false;
  readonly #stopping = new AbortController();
  readonly #finishing = Promise.withResolvers<FinishedTurn | null>();
  readonly #listeners = new Set<() => void>();
  /** The subscribers of its events. They are apart, because events are many and changes are few. */
  readonly #readers = new Set<EventsListener>();
  #state: LiveTurnState;
  #endsWithServer = false;

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

  /** Stops the turn because the process stops, and not because a person wants it (R4). */
  stopWithServer(): void {
    if (this.signal.aborted) return;
    this.#endsWithServer = true;
    this.stop();
  }

  get endsWithServer(): boolean {
    return this.#endsWithServer;
  }

  /** The finished turn. Null if the turn was refused before it was open. */
  get finished(): Promise<FinishedTurn | null> {
    return this.#finishing.promise;
  }

  finish(turn: FinishedTurn | null): void {
    this.#finishing.resolve(turn);
  }

  run({ accepted, recorder }: Pick<RunningState, "accepted" | "recorder">): void {
    this.#move(toRunning(this.#state, { accepted, recorder, subagentsBegun: 0 }));
  }

  /** Marks the lease as lost. Returns true the first time. */
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

  /**
   * Resolves once the test passes. The test runs at each change of the state, and when the turn leaves the registry.
   */
  async until(test: () => boolean): Promise<void> {
    if (test()) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const unsubscribe = this.onChange(() => {
      if (test()) resolve();
    });
    await promise;
    unsubscribe();
  }

  /** Reports that more events can be read. `events` are all that were added, in order. Null: some could not be added. */
  addedEvents(events: readonly SequencedEvent[] | null): void {
    for (const listener of this.#readers) listener(events);
  }

  /** Calls the listener whenever there are more events to read. Returns a function that unsubscribes it. */
  onEvents(listener: EventsListener): () => void {
    this.#readers.add(listener);
    return () => this.#readers.delete(listener);
  }

  /** Calls the listener right after each change. Returns a function that unsubscribes it. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Ends the turn's entry in the registry. Only the registry calls it. */
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
