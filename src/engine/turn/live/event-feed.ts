/**
 * Where one subscriber's events come from: a turn that runs in this process, or one that runs in another process or has
 * ended. A feed is read part by part, each behind the position that the subscriber has reached.
 */
import type { SequencedEvent } from "../../../domain/events.ts";
import { numbered } from "../kept/kept-events.ts";
import type { EngineCore } from "./engine-core.ts";
import { holdsLease } from "./leases.ts";
import { hasLostLease, isOver, type LiveTurn, type LiveTurnState } from "./live-turn.ts";
import { endUnwritten, leaseLost, storedEnd, type SubscriberPosition } from "./stored-end.ts";

export interface FeedPart {
  /** What follows the position, as far as it can be had at once. To be read to its end: it may throw on the way. */
  events: Iterable<SequencedEvent>;
  /** What the subscriber does behind these events. */
  next: "read" | "wait" | "end";
}

export interface EventFeed {
  read(seq: number): Promise<FeedPart>;
  /** Resolves when there may be more behind `seq`. False if there is nothing more to wait for in this process. */
  wait(seq: number): Promise<boolean>;
  /** The subscriber has left. */
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

/** Made once: an abort without a reason makes an error with a stack, for each subscriber. */
const turnIsOver = new Error("the turn is over");

/** Of a turn that runs here, or ran here when the subscription began. Its state says what there is to read. */
class LiveFeed implements EventFeed {
  readonly #core: EngineCore;
  readonly #live: LiveTurn;
  readonly #afterSeq: number;
  /** True if the lease was lost before the subscription: the turn may have been ended by others, while the run here is still being stopped. */
  readonly #beganLost: boolean;
  /** Aborts when the turn is over, or the subscriber leaves. */
  readonly #news: AbortSignal;
  readonly #unsubscribe: () => void;
  /** The log was read to its end once: from there on each read waits for news. */
  #isFollowing = false;

  constructor(core: EngineCore, live: LiveTurn, { afterSeq, signal }: Subscription) {
    this.#core = core;
    this.#live = live;
    this.#afterSeq = afterSeq;
    this.#beganLost = hasLostLease(live.state);
    const over = new AbortController();
    const check = (): void => {
      if (isOver(live.state)) over.abort(turnIsOver);
    };
    check();
    this.#news = AbortSignal.any([signal, over.signal]);
    this.#unsubscribe = live.onChange(check);
  }

  async read(seq: number): Promise<FeedPart> {
    const core = this.#core;
    const { turnId, state } = this.#live;
    if (state.name === "stored") return { events: numbered(state.events).slice(seq), next: "end" };
    // The state is read before the log and the row: what these say then is the last word.
    const runsHere = core.live.get(turnId) !== undefined;
    const position = { seq, hasLiveEvents: seq > this.#afterSeq, runsHere };
    if (hasLostLease(state)) return await this.#readLost({ ...position, runsHere: true });
    const batch = await core.deps.log.read(turnId, seq);
    if (batch === null || batch.length === 0) return await this.#readAtEnd(state, position);
    return { events: this.#whileHeld(batch), next: this.#isFollowing ? "wait" : "read" };
  }

  async wait(seq: number): Promise<boolean> {
    await this.#core.deps.log.wait(this.#live.turnId, seq, this.#news);
    return true;
  }

  close(): void {
    this.#unsubscribe();
  }

  /** What a process says that has lost the turn, perhaps while it was paused, is not kept. */
  *#whileHeld(batch: readonly SequencedEvent[]): Generator<SequencedEvent> {
    for (const sequenced of batch) {
      if (!holdsLease(this.#core, this.#live)) throw leaseLost(this.#live.turnId);
      yield sequenced;
    }
  }

  /** A new subscriber may find an end in the store. One that was here before may have more than is kept, and follows again. */
  async #readLost(position: SubscriberPosition): Promise<FeedPart> {
    if (!this.#beganLost) throw leaseLost(this.#live.turnId);
    return await this.#storedEndOr(position);
  }

  /** All of the log is read. `seen` is the state before that. */
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

  /** While the turn runs here, no other process knows more of it than this one, and the row is not read. */
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

  /** The turn is over here: its end is in the store, or it is in the hands of another process. */
  async #storedEndOr(position: SubscriberPosition): Promise<FeedPart> {
    const { turnId } = this.#live;
    const end = await storedEnd(this.#core, turnId, position);
    if (end === null) throw leaseLost(turnId);
    return { events: end, next: "end" };
  }
}

/** Of a turn that runs in another process, or has ended: the live log while there is one, then what the store keeps. */
class StoreFeed implements EventFeed {
  readonly #core: EngineCore;
  readonly #subscription: Subscription;
  /** Aborts when this process ends, or the subscriber leaves (R4): the subscriber follows the turn at another server. */
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
    const batch = await this.#core.deps.log.read(turnId, seq);
    // While there is news of a turn that is known to run, its row is not read.
    if (batch !== null && batch.length > 0) return { events: batch, next: this.#isFollowing ? "wait" : "read" };
    const end = await storedEnd(this.#core, turnId, { seq, hasLiveEvents: seq > afterSeq, runsHere });
    if (end !== null) return { events: end, next: "end" };
    this.#isFollowing = true;
    return { events: [], next: "wait" };
  }

  async wait(seq: number): Promise<boolean> {
    if (this.#core.closing.signal.aborted) return false;
    await this.#core.deps.log.wait(this.#subscription.turnId, seq, this.#news);
    return true;
  }

  close(): void {}
}
