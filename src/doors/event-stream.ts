/**
 * Server-sent events, for every door that streams over HTTP (V1, V2). The listener pulls the stream. A slow listener delays only its own reading of the log, and a
 * listener that leaves ends it. Neither affects the run (R5).
 */
import type { ServerResponse } from "node:http";
import type { UnderlyingDefaultSource } from "node:stream/web";
import { endOfRound } from "../system/rounds.ts";

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
const heartbeat = ":\n\n";

export const eventStreamHeaders = {
  "content-type": "text/event-stream; charset=utf-8",
  // Tells proxies not to buffer the response, which would delay the events.
  "x-accel-buffering": "no",
};

/** The stream of each response, for a server that can write it without a web stream. */
const pumps = new WeakMap<ReadableStream<Uint8Array>, EventPump>();

export function eventStream<Item>(options: EventStreamOptions<Item>): ReadableStream<Uint8Array> {
  const pump = new EventPump(options);
  const source: UnderlyingDefaultSource<Uint8Array> = {
    start: (controller) => pump.open(new WebListener(controller)),
    pull: () => pump.resume(),
    cancel: () => pump.end(),
  };
  // A high-water mark of 0: nothing but the event after the last piece is read ahead of the listener.
  const stream = new ReadableStream(source, { highWaterMark: 0 });
  pumps.set(stream, pump);
  return stream;
}

/**
 * Writes a response that is a stream of events to its connection. Returns false if it is none. A web stream between them would cost as much
 * as all the rest of an event's way.
 */
export function sendEventStream({ status, headers, body }: Response, outgoing: ServerResponse): boolean {
  const pump = body === null ? undefined : pumps.get(body);
  if (pump === undefined || pump.isOver || outgoing.destroyed) return false;
  outgoing.writeHead(status, Object.fromEntries(headers));
  pump.open(new ConnectedListener(outgoing, () => pump.resume()));
  pump.resume();
  return true;
}

/** Who receives the pieces of a stream. */
interface Listener {
  /** Sends a piece. Returns true if the listener wants more at once. */
  send(piece: string): boolean;
  end(): void;
}

class WebListener implements Listener {
  readonly #controller: ReadableStreamDefaultController<Uint8Array>;

  constructor(controller: ReadableStreamDefaultController<Uint8Array>) {
    this.#controller = controller;
  }

  send(piece: string): boolean {
    this.#controller.enqueue(encoder.encode(piece));
    return false;
  }

  end(): void {
    this.#controller.close();
  }
}

class ConnectedListener implements Listener {
  readonly #outgoing: ServerResponse;
  readonly #onDrain: () => void;
  #hasBegun = false;

  constructor(outgoing: ServerResponse, onDrain: () => void) {
    this.#outgoing = outgoing;
    this.#onDrain = onDrain;
    // The headers leave with the first piece, unless that takes longer than this round of the event loop.
    setImmediate(() => {
      if (!this.#hasBegun) outgoing.flushHeaders();
    });
  }

  send(piece: string): boolean {
    this.#hasBegun = true;
    const hasRoom = this.#outgoing.write(piece);
    if (!hasRoom) this.#outgoing.once("drain", this.#onDrain);
    return hasRoom;
  }

  end(): void {
    this.#hasBegun = true;
    this.#outgoing.end();
  }
}

/** Reads events while the listener wants them, and sends those that are there together in one piece. */
class EventPump<Item = unknown> {
  readonly #options: EventStreamOptions<Item>;
  readonly #items: AsyncIterator<Item>;
  #listener: Listener | null = null;
  #heartbeat: NodeJS.Timeout | undefined;
  #hasBegun = false;
  /** True while the listener waits for a piece. */
  #isWanted = false;
  /** The time at which its wait began, by the clock of the process. */
  #waitsSince = 0;
  /** What was read and not sent. */
  #text = "";
  #isSending = false;
  /** True once there are no more events. */
  #isRead = false;
  #isOver = false;
  /** Continues the reading. */
  #wake: (() => void) | null = null;

  constructor(options: EventStreamOptions<Item>) {
    this.#options = options;
    this.#items = options.events[Symbol.asyncIterator]();
    this.#beatIn(options.heartbeatMs);
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  /** Sets the listener. The last one counts. */
  open(listener: Listener): void {
    const isFirst = this.#listener === null;
    this.#listener = listener;
    const { signal, gone } = this.#options;
    // Ends the stream without an error: a listener that leaves is no fault for the server's log.
    if (signal.aborted) this.#close();
    else if (isFirst) signal.addEventListener("abort", () => this.#close(), { once: true, signal: gone.signal });
  }

  /** The listener wants more. */
  resume(): void {
    if (this.#isOver || this.#isWanted) return;
    this.#isWanted = true;
    this.#waitsSince = performance.now();
    this.#heartbeat?.ref();
    if (this.#text !== "" || this.#isRead) this.#sendSoon();
    this.#wake?.();
    if (this.#hasBegun) return;
    this.#hasBegun = true;
    void this.#read();
  }

  async #read(): Promise<void> {
    const { textOf, onFault } = this.#options;
    try {
      for (let next = await this.#items.next(); next.done !== true; next = await this.#items.next()) {
        this.#text += textOf(next.value);
        this.#sendSoon();
        // Other listeners and requests have their turn between long pieces.
        if (this.#text.length >= pieceLengthMax) await endOfRound();
        while ((!this.#isWanted || this.#text.length >= pieceLengthMax) && !this.#isOver) await this.#room();
      }
    } catch (error) {
      if (!this.#isOver) onFault(error);
    }
    this.#isRead = true;
    this.#sendSoon();
  }

  /** Resolves when the listener wants more. */
  async #room(): Promise<void> {
    await new Promise<void>((resolve) => (this.#wake = resolve));
    this.#wake = null;
  }

  /** Events that are there already leave in the same piece. */
  #sendSoon(): void {
    if (this.#isSending || !this.#isWanted) return;
    this.#isSending = true;
    process.nextTick(this.#send);
  }

  readonly #send = (): void => {
    this.#isSending = false;
    if (this.#isOver || !this.#isWanted) return;
    const text = this.#text;
    this.#text = "";
    if (text !== "") this.#give(text);
    if (this.#isRead && this.#text === "" && this.#isWanted) this.#close();
  };

  #give(text: string): void {
    this.#isWanted = this.#listener?.send(text) ?? false;
    if (this.#isWanted) {
      this.#waitsSince = performance.now();
      this.#wake?.();
    } else this.#heartbeat?.unref();
  }

  /** Ends the stream at the listener's side too. */
  #close(): void {
    if (this.#isOver) return;
    this.end();
    this.#listener?.end();
  }

  /** Ends the reading. */
  end(): void {
    const { gone, onFault } = this.#options;
    this.#isOver = true;
    clearTimeout(this.#heartbeat);
    gone.abort();
    this.#items.return?.().catch(onFault);
    this.#wake?.();
  }

  /** Sends a heartbeat to a listener that has waited for its time. A timer that each piece began anew would cost more than the piece. */
  #beatIn(ms: number): void {
    const { heartbeatMs } = this.#options;
    this.#heartbeat = setTimeout(() => {
      const left = this.#isWanted ? this.#waitsSince + heartbeatMs - performance.now() : heartbeatMs;
      if (left < 1 && this.#text === "") this.#give(heartbeat);
      if (!this.#isOver) this.#beatIn(left < 1 ? heartbeatMs : left);
    }, ms);
    if (!this.#isWanted) this.#heartbeat.unref();
  }
}

/** Returns an event as it is sent. */
export function eventText({ id, name, data }: ServerSentEvent): string {
  return `${id === undefined ? "" : `id: ${id}\n`}${name === undefined ? "" : `event: ${name}\n`}data: ${data}\n\n`;
}
