/** A turn that this process runs: all its events, and how many of them are in Redis and in the log behind it. */
import type { SequencedEvent, TurnEvent } from "../../domain/events.ts";
import type { EventLog } from "../event-log.ts";
import type { Streams } from "./streams.ts";

export interface OwnTurnParts {
  streams: Streams;
  behind: EventLog;
  /** What an earlier process left. */
  left(turnId: string): Promise<Left>;
}

export interface Left {
  events: readonly SequencedEvent[];
  /** How many of them the log behind has; null: it has no log of the turn. */
  given: number | null;
}

export class OwnTurn {
  readonly turnId: string;
  readonly #parts: OwnTurnParts;
  #loading: Promise<void> | null = null;
  #isLoaded = false;
  readonly #events: TurnEvent[] = [];
  /** Readable from every server, from Redis or from behind it. */
  #readable = 0;
  /** Given to the log behind: what it could not take keeps its place there, and is not given again. */
  #given = 0;
  #written = 0;
  /** The log behind knows of the turn. */
  #hasBegun = false;
  #appending: Promise<void> = Promise.resolve();
  #writing: Promise<void> = Promise.resolve();

  constructor(turnId: string, parts: OwnTurnParts) {
    this.turnId = turnId;
    this.#parts = parts;
  }

  /** Goes on behind what is there already. What cannot be read now is tried anew by the next append. */
  async #load(): Promise<void> {
    if (this.#isLoaded) return;
    await (this.#loading ??= this.#readLeft().finally(() => (this.#loading = null)));
  }

  async #readLeft(): Promise<void> {
    const { events, given } = await this.#parts.left(this.turnId);
    this.#events.unshift(...events.map(({ event }) => event));
    this.#readable = events.length;
    this.#given = this.#written = given ?? 0;
    this.#hasBegun = given !== null;
    this.#isLoaded = true;
  }

  /** Resolves when the events are readable from every server. */
  async append(events: readonly TurnEvent[]): Promise<void> {
    this.#events.push(...events);
    const mine = this.#appending.then(() => this.#append());
    this.#appending = mine.catch(() => undefined);
    await mine;
  }

  async #append(): Promise<void> {
    await this.#load();
    const upTo = this.#events.length;
    const { turnId } = this;
    const news = { turnId, previousSeq: this.#readable, events: this.#events.slice(this.#readable, upTo) };
    const isInRedis = news.events.length > 0 && (await this.#parts.streams.append(news).catch(() => false));
    // Whoever reads Redis falls back to the log behind where something is missing: it has to be there now.
    if (!isInRedis) await this.write();
    this.#readable = Math.max(this.#readable, upTo);
  }

  /** Resolves when the log behind has all events so far. */
  async write(): Promise<void> {
    const mine = this.#writing.then(() => this.#write());
    this.#writing = mine.catch(() => undefined);
    await mine;
  }

  async #write(): Promise<void> {
    await this.#load();
    const upTo = this.#events.length;
    if (this.#hasBegun && this.#written === upTo) return;
    const rest = this.#events.slice(this.#given, upTo);
    this.#given = upTo;
    await this.#parts.behind.append(this.turnId, rest);
    this.#hasBegun = true;
    this.#written = upTo;
  }

  get isWritten(): boolean {
    return this.#hasBegun && this.#written === this.#events.length;
  }

  /** Null: that is not known yet. */
  get readable(): number | null {
    return this.#isLoaded ? this.#readable : null;
  }

  read(afterSeq: number): SequencedEvent[] {
    const from = Math.max(0, afterSeq);
    return this.#events.slice(from, this.#readable).map((event, index) => ({ seq: from + index + 1, event }));
  }

  /** Resolves when nothing of it is on its way any more. */
  async idle(): Promise<void> {
    await this.#appending;
    await this.#writing;
  }
}
