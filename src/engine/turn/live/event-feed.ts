/**
 * The source of one subscriber's events: a turn that runs in this process, or one that runs in another process or has
 * ended. A feed is read in parts, each after the position that the subscriber has reached.
 */
import type { SequencedEvent } from "../../../domain/events.ts";
import { onAbort } from "../../../system/abort.ts";
import { KeptRun } from "../kept/kept-run.ts";
import type { EngineCore } from "./engine-core.ts";
import { holdsLease } from "./leases.ts";
import { hasLostLease, isOver, type LiveTurn, type LiveTurnState } from "./live-turn.ts";
import { endUnwritten, leaseLost, storedEnd, type SubscriberPosition } from "./stored-end.ts";

export interface FeedPart {
  /** The events after the position that are available at once. They must be read to the end; reading may throw. */
  events: Iterable<SequencedEvent>;
  /** What the subscriber does after these events. */
  next: "read" | "wait" | "end";
}

export interface EventFeed {
  read(seq: number): Promise<FeedPart>;
  /** Waits until there may be more events after `seq`, and reads them. Returns null if this process has no more events to wait for. */
  readNext(seq: number): Promise<FeedPart | null>;
  /** Ends the subscription. */
  close(): void;
}

interface Subscription {
  turnId: string;
  afterSeq: number;
  signal: AbortSignal;
}

export function feedOf(core: EngineCore, subscription: Subscription): EventFeed {
  const live = core.live.get(subscription.turnId);
  return live === undefined ? new StoreFeed(core, subscription) : new LiveFeed(core, live, subscription);
}

type Events = readonly SequencedEvent[];

/** Wakes the one reader of a feed. News that comes before the wait is not missed. */
class News {
  #isThere = false;
  #wake: ((events: Events | null) => void) | null = null;

  readonly report = (events: Events | null): void => {
    const wake = this.#wake;
    this.#wake = null;
    if (wake === null) this.#isThere = true;
    else wake(events);
  };

  /** Resolves when there was news since the last time. Returns the new events if that is all, and null if it must be read. */
  async next(): Promise<Events | null> {
    if (!this.#isThere) return await new Promise((resolve) => (this.#wake = resolve));
    this.#isThere = false;
    return null;
  }
}

/**
 * The feed of a turn that runs here, or ran here when the subscription began. The state of the turn decides what is
 * read.
 */
class LiveFeed implements EventFeed {
  readonly #core: EngineCore;
  readonly #live: LiveTurn;
  readonly #afterSeq: number;
  /**
   * True if the lease was lost before the subscription. Then another process may have ended the turn while its run here
   * is still being stopped.
   */
  readonly #beganLost: boolean;
  /** The turn has new events or is over, or the subscriber leaves. The turn itself reports it, without a store. */
  readonly #news = new News();
  readonly #unsubscribe: readonly (() => void)[];
  /** True once the log was read to its end. From then on each read waits for news. */
  #isFollowing = false;

  constructor(core: EngineCore, live: LiveTurn, { afterSeq, signal }: Subscription) {
    this.#core = core;
    this.#live = live;
    this.#afterSeq = afterSeq;
    this.#beganLost = hasLostLease(live.state);
    const { report } = this.#news;
    // An end that is being written may lose its lease before it is known to be stored: that is no news yet (R1).
    const changed = (): void => (isOver(live.state) ? report(null) : undefined);
    this.#unsubscribe = [live.onEvents(report), live.onChange(changed), onAbort(signal, () => report(null))];
  }

  async read(seq: number): Promise<FeedPart> {
    const core = this.#core;
    const { turnId, state } = this.#live;
    if (state.name === "stored") return { events: new KeptRun(state.events).after(seq), next: "end" };
    // The state is read before the log and the row, so their content at that time is final.
    const runsHere = core.live.get(turnId) !== undefined;
    const position = { seq, hasLiveEvents: seq > this.#afterSeq, runsHere };
    if (hasLostLease(state)) return await this.#readLost({ ...position, runsHere: true });
    const batch = await core.deps.log.read(turnId, seq);
    if (batch === null || batch.length === 0) return await this.#readAtEnd(state, position);
    return { events: this.#whileHeld(batch), next: this.#isFollowing ? "wait" : "read" };
  }

  async readNext(seq: number): Promise<FeedPart> {
    const events = await this.#news.next();
    // They are in the log, and they are all that it has after `seq`: it need not be read.
    if (events?.[0]?.seq === seq + 1) return { events: this.#whileHeld(events), next: "wait" };
    return await this.read(seq);
  }

  close(): void {
    for (const unsubscribe of this.#unsubscribe) unsubscribe();
  }

  /**
   * Yields the events as long as the lease is held. Events of a process that lost the turn, perhaps while it was
   * paused, are not stored.
   */
  *#whileHeld(batch: Events): Generator<SequencedEvent> {
    for (const sequenced of batch) {
      if (!holdsLease(this.#core, this.#live)) throw leaseLost(this.#live.turnId);
      yield sequenced;
    }
  }

  /**
   * Reads on after the lease was lost. A new subscriber may find an end in the store. An earlier subscriber may have
   * more events than are stored, and must subscribe again.
   */
  async #readLost(position: SubscriberPosition): Promise<FeedPart> {
    if (!this.#beganLost) throw leaseLost(this.#live.turnId);
    return await this.#storedEndOr(position);
  }

  /** Continues after the whole log was read. `seen` is the state before that. */
  async #readAtEnd(seen: LiveTurnState, position: SubscriberPosition): Promise<FeedPart> {
    switch (seen.name) {
      case "preparing":
      case "running":
      case "settling":
        return await this.#followOn(position);
      case "unwritten":
        throw endUnwritten(this.#live.turnId, seen.reason);
      case "lost":
      case "stored":
      case "closed":
        return await this.#storedEndOr(position);
    }
  }

  /** Waits for news. As long as the turn runs here, no other process knows more about it, so its row is not read. */
  async #followOn(position: SubscriberPosition): Promise<FeedPart> {
    const { turnId } = this.#live;
    if (!holdsLease(this.#core, this.#live)) {
      const end = await storedEnd(this.#core, turnId, position);
      if (end !== null) return { events: end, next: "end" };
      const { name } = this.#live.state;
      if (name === "lost" || name === "closed") throw leaseLost(turnId);
    }
    this.#isFollowing = true;
    return { events: [], next: isOver(this.#live.state) ? "read" : "wait" };
  }

  /** Returns the stored end, once the turn is over in this process. Otherwise another process will end the turn. */
  async #storedEndOr(position: SubscriberPosition): Promise<FeedPart> {
    const { turnId } = this.#live;
    const end = await storedEnd(this.#core, turnId, position);
    if (end === null) throw leaseLost(turnId);
    return { events: end, next: "end" };
  }
}

/**
 * The feed of a turn that runs in another process, or has ended: the live log as long as there is one, then the stored
 * events.
 */
class StoreFeed implements EventFeed {
  readonly #core: EngineCore;
  readonly #subscription: Subscription;
  /**
   * Aborts when this process stops, or when the subscriber leaves (R4). The subscriber follows the turn at another
   * server.
   */
  readonly #news: AbortSignal;
  #isFollowing = false;

  constructor(core: EngineCore, subscription: Subscription) {
    this.#core = core;
    this.#subscription = subscription;
    this.#news = AbortSignal.any([subscription.signal, core.closing.signal]);
  }

  async read(seq: number): Promise<FeedPart> {
    const { turnId, afterSeq } = this.#subscription;
    const runsHere = this.#core.live.get(turnId) !== undefined;
    const batch = await this.#logged(seq);
    // As long as a running turn has news, its row is not read.
    if (batch !== null && batch.length > 0) return { events: batch, next: this.#isFollowing ? "wait" : "read" };
    const end = await storedEnd(this.#core, turnId, { seq, hasLiveEvents: seq > afterSeq, runsHere });
    if (end !== null) return { events: end, next: "end" };
    this.#isFollowing = true;
    return { events: [], next: "wait" };
  }

  /** Reads the live log. If it cannot be read, a turn that has ended is read from its blob. */
  async #logged(seq: number): Promise<SequencedEvent[] | null> {
    const { log, records } = this.#core.deps;
    const { turnId } = this.#subscription;
    try {
      return await log.read(turnId, seq);
    } catch (error) {
      const turn = await records.turns.get(turnId);
      if (turn === null || turn.status === "pending" || turn.blobs.run === null) throw error;
      return null;
    }
  }

  async readNext(seq: number): Promise<FeedPart | null> {
    if (this.#core.closing.signal.aborted) return null;
    await this.#core.deps.log.wait(this.#subscription.turnId, seq, this.#news);
    return await this.read(seq);
  }

  close(): void {}
}
