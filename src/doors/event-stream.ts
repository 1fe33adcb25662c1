/**
 * Server-sent events, for every door that streams over HTTP (V1, V2). The listener pulls the stream. A slow listener delays only its own reading of the log, and a
 * listener that leaves ends it. Neither affects the run (R5).
 */
import { endOfTick } from "../system/rounds.ts";

/** One event of a stream. `data` is its text, which has no line break. */
export interface ServerSentEvent {
  id?: string;
  /** The name of the event, for clients that choose by it. */
  name?: string;
  data: string;
}

export interface EventStreamOptions<Item> {
  events: AsyncIterable<Item>;
  /** Returns the text of an item, made with `eventText`. */
  textOf(item: Item): string;
  /** Aborted when the listener has left. This ends a pending wait for the next event. */
  gone: AbortController;
  /** The signal of the request. */
  signal: AbortSignal;
  heartbeatMs: number;
  /** Receives the error if the source fails. The stream only ends; a client that opens it again gets the error as a response. */
  onFault: (error: unknown) => void;
}

/** How long the text of events that leave together may become, in characters. */
const pieceLengthMax = 65_536;

const encoder = new TextEncoder();
/** A comment. Readers skip it, and it keeps proxies from closing an idle connection. */
const heartbeat = encoder.encode(":\n\n");

export const eventStreamHeaders = {
  "content-type": "text/event-stream; charset=utf-8",
  // Tells proxies not to buffer the response, which would delay the events.
  "x-accel-buffering": "no",
};

export function eventStream<Item>(options: EventStreamOptions<Item>): ReadableStream<Uint8Array> {
  // A high-water mark of 0: nothing but the event after the last piece is read ahead of the listener.
  return new ReadableStream(new PulledEvents(options), { highWaterMark: 0 });
}

/** The source of a stream. It reads events while the listener waits for a piece. */
class PulledEvents<Item> {
  readonly #options: EventStreamOptions<Item>;
  readonly #items: AsyncIterator<Item>;
  #heartbeat: NodeJS.Timeout | undefined;
  /** The time at which the listener began to wait for a piece, by the clock of the process. Null: it does not wait. */
  #waitsSince: number | null = null;
  #hasBegun = false;
  /** What was read and not sent. */
  #text = "";
  #isWanted = false;
  #isOver = false;
  /** Continues the listener's wait for a piece. */
  #wakeListener: (() => void) | null = null;
  /** Continues the reading. */
  #wakeReading: (() => void) | null = null;

  constructor(options: EventStreamOptions<Item>) {
    this.#options = options;
    this.#items = options.events[Symbol.asyncIterator]();
    this.#beatIn(options.heartbeatMs);
  }

  start(controller: ReadableStreamDefaultController<Uint8Array>): void {
    const { signal, gone } = this.#options;
    // Closes the stream without an error: a listener that leaves is no fault for the server's log.
    const abort = (): void => {
      this.cancel();
      controller.close();
    };
    if (signal.aborted) abort();
    else signal.addEventListener("abort", abort, { once: true, signal: gone.signal });
  }

  async pull(controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> {
    const { gone } = this.#options;
    this.#isWanted = true;
    this.#wakeReading?.();
    if (!this.#hasBegun) void this.#read();
    this.#hasBegun = true;
    if (this.#text === "" && !this.#isOver) await this.#news();
    // Events that are there already leave in the same piece.
    await endOfTick();
    if (gone.signal.aborted) return;
    const text = this.#text;
    this.#text = "";
    this.#isWanted = false;
    if (text !== "") controller.enqueue(encoder.encode(text));
    else if (!this.#isOver) controller.enqueue(heartbeat);
    else {
      this.#end();
      controller.close();
    }
  }

  cancel(): void {
    this.#end();
    this.#wakeListener?.();
    this.#wakeReading?.();
    this.#items.return?.().catch(this.#options.onFault);
  }

  #end(): void {
    clearTimeout(this.#heartbeat);
    this.#options.gone.abort();
  }

  /** Wakes a listener that has waited for a heartbeat's time. A timer that each piece began anew would cost more than the piece. */
  #beatIn(ms: number): void {
    const { heartbeatMs } = this.#options;
    this.#heartbeat = setTimeout(() => {
      const left = (this.#waitsSince ?? performance.now()) + heartbeatMs - performance.now();
      if (left < 1) this.#wakeListener?.();
      this.#beatIn(left < 1 ? heartbeatMs : left);
    }, ms);
    if (this.#waitsSince === null) this.#heartbeat.unref();
  }

  /** Resolves when there is something to send, at the latest when it is time for a heartbeat. */
  async #news(): Promise<void> {
    this.#waitsSince = performance.now();
    this.#heartbeat?.ref();
    await new Promise<void>((resolve) => (this.#wakeListener = resolve));
    this.#wakeListener = null;
    this.#waitsSince = null;
    this.#heartbeat?.unref();
  }

  async #read(): Promise<void> {
    const { textOf, gone, onFault } = this.#options;
    try {
      for (let next = await this.#items.next(); next.done !== true; next = await this.#items.next()) {
        this.#text += textOf(next.value);
        this.#wakeListener?.();
        while ((!this.#isWanted || this.#text.length >= pieceLengthMax) && !gone.signal.aborted) await this.#room();
      }
    } catch (error) {
      if (!gone.signal.aborted) onFault(error);
    }
    this.#isOver = true;
    this.#wakeListener?.();
  }

  /** Resolves when the listener wants more. */
  async #room(): Promise<void> {
    await new Promise<void>((resolve) => (this.#wakeReading = resolve));
    this.#wakeReading = null;
  }
}

/** Returns an event as it is sent. */
export function eventText({ id, name, data }: ServerSentEvent): string {
  return `${id === undefined ? "" : `id: ${id}\n`}${name === undefined ? "" : `event: ${name}\n`}data: ${data}\n\n`;
}
