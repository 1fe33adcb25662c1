/** The log of a turn that this process runs: all its events, and how many of them are in Redis and in the log behind it. */
import type { SequencedEvent, TurnEvent } from "../../domain/events.ts";
import { checkMayWrite, type EventLog, type MayWrite } from "../event-log.ts";
import type { TurnStreams } from "./turn-streams.ts";

export interface OwnTurnStreamParts {
  streams: TurnStreams;
  behind: EventLog;
  /** Reads what an earlier process left of the turn. */
  left(turnId: string): Promise<EarlierEvents>;
}

export interface EarlierEvents {
  events: readonly SequencedEvent[];
  /** How many of the events the log behind has. Null if it has no log of the turn. */
  given: number | null;
}

export class OwnTurnStream {
  readonly turnId: string;
  readonly #parts: OwnTurnStreamParts;
  #loading: Promise<void> | null = null;
  #isLoaded = false;
  readonly #events: TurnEvent[] = [];
  /** How many events every server can read, from Redis or from the log behind. */
  #readable = 0;
  /** How many events were passed to the log behind. What it could not write it keeps, so that is not passed again. */
  #given = 0;
  #written = 0;
  /** True if the log behind has a log of the turn. */
  #hasBegun = false;
  #mayWrite: MayWrite | undefined;
  #appending: Promise<void> = Promise.resolve();
  #writing: Promise<void> = Promise.resolve();

  constructor(turnId: string, parts: OwnTurnStreamParts) {
    this.turnId = turnId;
    this.#parts = parts;
  }

  /** Loads the stored events, after which new ones continue. If that fails, the next append tries again. */
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

  /** Appends the events. Resolves when every server can read them. */
  async append(events: readonly TurnEvent[], mayWrite: MayWrite | undefined): Promise<void> {
    this.#mayWrite = mayWrite;
    this.#events.push(...events);
    const mine = this.#appending.then(() => this.#append());
    this.#appending = mine.catch(() => undefined);
    await mine;
  }

  async #append(): Promise<void> {
    await this.#load();
    const upTo = this.#events.length;
    const { turnId } = this;
    const mayWrite = this.#mayWrite;
    checkMayWrite(turnId, mayWrite);
    const events = this.#events.slice(this.#readable, upTo);
    const entries = { turnId, previousSeq: this.#readable, events, mayWrite };
    const isInRedis = events.length > 0 && (await this.#parts.streams.append(entries).catch(() => false));
    // A reader of Redis uses the log behind if an event is missing, so the event has to be there now.
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
    checkMayWrite(this.turnId, this.#mayWrite);
    const rest = this.#events.slice(this.#given, upTo);
    this.#given = upTo;
    await this.#parts.behind.append(this.turnId, rest, this.#mayWrite);
    this.#hasBegun = true;
    this.#written = upTo;
  }

  /** False once another process may have taken over the turn. */
  get mayWrite(): boolean {
    return this.#mayWrite?.() !== false;
  }

  get isWritten(): boolean {
    return this.#hasBegun && this.#written === this.#events.length;
  }

  /** The number of events that every server can read. Null while that is not known. */
  get readable(): number | null {
    return this.#isLoaded ? this.#readable : null;
  }

  read(afterSeq: number): SequencedEvent[] {
    const from = Math.max(0, afterSeq);
    return this.#events.slice(from, this.#readable).map((event, index) => ({ seq: from + index + 1, event }));
  }

  /** Resolves when no append and no write of the turn is running. */
  async idle(): Promise<void> {
    await this.#appending;
    await this.#writing;
  }
}
