/**
 * The turns that this process runs, for interrupting and for an orderly end (R3, R4). In memory only: it is
 * rebuilt from nothing, and the records say what is true.
 */
import type { Failure } from "../../../domain/errors.ts";
import type { TurnEvent } from "../../../domain/events.ts";
import type { SubagentRef } from "../../../domain/subagent.ts";
import type { FinishedTurn } from "../../../domain/turn.ts";
import { unwatched, type TurnWatch } from "./turn-watch.ts";
import type { AcceptedRequest } from "../prepare/accepted-request.ts";
import type { RunRecorder } from "./run-recorder.ts";

export interface LiveTurn {
  turnId: string;
  sessionId: string;
  /** A session that whoever may see it may see the turn: its own, or for a new one the one that it comes from. */
  visibleBy: string;
  /** The user who began it. */
  startedBy: string;
  /** Null: it is the turn that the session is busy with (T5). */
  subagent: SubagentRef | null;
  /** What it is made of, while the model and its tools run: for what they begin beside it (A1). Null: not yet, or no longer. */
  run: { accepted: AcceptedRequest; recorder: RunRecorder; subagentsBegun: number } | null;
  /** Messages that the model has not got yet (V4). */
  steers: { text: string }[];
  /** Ids of all messages that were given to it: one that is sent again is not given again (T13). */
  steered: Set<string>;
  takesSteers: boolean;
  watch: TurnWatch;
  controller: AbortController;
  /** Until when its lease lasts at least, by `EngineParts.monotonic`; infinite until it has one (R1). */
  leaseUntil: number;
  /** Its lease is lost, or about to be: it is being stopped, and may not act any more. */
  isLost: boolean;
  /** The run is over, and its end is being written. */
  isSettling: boolean;
  /** Resolves when the turn is finished and stored; set once it is open. */
  finished: Promise<FinishedTurn> | null;
  /** Resolves when the turn has a row, or is over without one. */
  opened: Promise<void>;
  /** Its end is in the store: the session is free, though listeners are still being told (T5). */
  isStored: boolean;
  /** Resolves when the turn is over here, however: finished, or refused before it was open. */
  ended: Promise<void>;
  /** Aborts once the end is in the store, or could not be written: listeners need not wait for the log to tell them. */
  over: AbortSignal;
  /** All that it said, once its end is in the store: who listens here need not read that back. Null: not yet, or not known here. */
  events: readonly TurnEvent[] | null;
  /** Why its end could not be written: others will write one. Null: it was, or is not there yet. */
  unwritten: Failure | null;
  /** Resolves when its live log is gone; nobody but an orderly end waits for that. */
  logDropped: Promise<void>;
}

/** Made once: an abort without a reason makes an error with a stack, of each turn. */
const turnIsOver = new Error("the turn is over");

/** Without a watch nobody is told of it. */
type Beginning = Pick<LiveTurn, "turnId" | "sessionId" | "visibleBy" | "startedBy"> &
  Partial<Pick<LiveTurn, "watch" | "subagent">>;

export class LiveTurns {
  readonly #byTurn = new Map<string, LiveTurn>();
  readonly #waiting = new Map<string, { opened: () => void; stored: () => void; ended: () => void }>();

  begin({ watch = unwatched(), subagent = null, ...begun }: Beginning): LiveTurn {
    const { turnId } = begun;
    const controller = new AbortController();
    const opening = Promise.withResolvers<void>();
    const ending = Promise.withResolvers<void>();
    const over = new AbortController();
    this.#waiting.set(turnId, { opened: opening.resolve, stored: () => over.abort(turnIsOver), ended: ending.resolve });
    const live: LiveTurn = {
      ...begun,
      subagent,
      run: null,
      steers: [],
      steered: new Set(),
      takesSteers: true,
      watch,
      controller,
      leaseUntil: Infinity,
      isLost: false,
      isSettling: false,
      finished: null,
      opened: opening.promise,
      isStored: false,
      ended: ending.promise,
      over: over.signal,
      events: null,
      unwritten: null,
      logDropped: Promise.resolve(),
    };
    this.#byTurn.set(turnId, live);
    return live;
  }

  /** The turn has its row. */
  open(turnId: string): void {
    this.#waiting.get(turnId)?.opened();
  }

  /** The turn has its end in the store. `events` are all of it, where this end was stored. */
  store(live: LiveTurn, events: readonly TurnEvent[] | null): void {
    live.isStored = true;
    live.events = events;
    this.#waiting.get(live.turnId)?.stored();
  }

  /** Its end could not be written, and others will write one. Who listens here is told that (T11), and no end that nobody keeps (V2). */
  leaveUnwritten(live: LiveTurn, reason: Failure): void {
    live.unwritten = reason;
    this.#waiting.get(live.turnId)?.stored();
  }

  /** It is lost, and ends in other hands: who listens here must not wait for more. */
  letGo({ turnId }: LiveTurn): void {
    this.#waiting.get(turnId)?.stored();
  }

  end(turnId: string): void {
    this.#byTurn.delete(turnId);
    const waiting = this.#waiting.get(turnId);
    this.#waiting.delete(turnId);
    waiting?.opened();
    waiting?.stored();
    waiting?.ended();
  }

  get(turnId: string): LiveTurn | undefined {
    return this.#byTurn.get(turnId);
  }

  /** The turn that the session is busy with. */
  ofSession(sessionId: string): LiveTurn | undefined {
    return this.all().find((live) => live.sessionId === sessionId && live.subagent === null && !live.isStored);
  }

  all(): LiveTurn[] {
    return [...this.#byTurn.values()];
  }

  get count(): number {
    return this.#byTurn.size;
  }
}
