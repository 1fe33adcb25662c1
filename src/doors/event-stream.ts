/**
 * Server-sent events, for every door that streams over HTTP (V1, V2). The listener pulls the stream. A slow listener delays only its own reading of the log, and a
 * listener that leaves ends it. Neither affects the run (R5).
 */
import { endOfRound } from "../system/end-of-round.ts";

/** One event of a stream. `data` is its text, which has no line break. */
export interface ServerSentEvent {
  id?: string;
  /** The name of the event, for clients that choose by it. */
  name?: string;
  data: string;
}

export interface EventStreamOptions {
  events: AsyncGenerator<ServerSentEvent>;
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

export function eventStream(options: EventStreamOptions): ReadableStream<Uint8Array> {
  const { events, gone, signal, onFault } = options;
  const beat = new Heartbeat(options.heartbeatMs);
  let next: Promise<IteratorResult<ServerSentEvent>> | null = null;

  /** Returns the text of the event and of those that are there already: they leave in one piece. */
  const withWaiting = async (first: ServerSentEvent): Promise<string> => {
    let text = format(first);
    const round = endOfRound().then(() => null);
    while (text.length < pieceLengthMax) {
      next = events.next();
      const result = await Promise.race([next, round]).catch(() => null);
      if (result === null || result.done === true) break;
      next = null;
      text += format(result.value);
    }
    return text;
  };
  const leave = (): void => {
    beat.end();
    gone.abort();
    events.return(undefined).catch(onFault);
  };
  const pull = async (controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> => {
    next ??= events.next();
    try {
      const result = await beat.within(next);
      if (gone.signal.aborted) return;
      if (result === null) return controller.enqueue(heartbeat);
      next = null;
      if (!result.done) return controller.enqueue(encoder.encode(await withWaiting(result.value)));
    } catch (error) {
      if (gone.signal.aborted) return;
      onFault(error);
    }
    beat.end();
    gone.abort();
    controller.close();
  };
  const start = (controller: ReadableStreamDefaultController<Uint8Array>): void => {
    // Closes the stream without an error: a listener that leaves is no fault for the server's log.
    const abort = (): void => {
      leave();
      controller.close();
    };
    if (signal.aborted) abort();
    else signal.addEventListener("abort", abort, { once: true, signal: gone.signal });
  };
  // A high-water mark of 0: nothing but the event after the last piece is read ahead of the listener.
  return new ReadableStream({ start, pull, cancel: leave }, { highWaterMark: 0 });
}

/** The one timer of a stream. */
class Heartbeat {
  readonly #timer: NodeJS.Timeout;
  #late: (() => void) | null = null;
  #isOver = false;

  constructor(ms: number) {
    this.#timer = setTimeout(() => this.#late?.(), ms).unref();
  }

  /** Settles as the work does, or resolves to null if that takes too long. */
  async within<T>(work: Promise<T>): Promise<T | null> {
    if (!this.#isOver) this.#timer.refresh().ref();
    const { promise, resolve } = Promise.withResolvers<null>();
    this.#late = () => resolve(null);
    try {
      return await Promise.race([work, promise]);
    } finally {
      this.#timer.unref();
    }
  }

  end(): void {
    this.#isOver = true;
    clearTimeout(this.#timer);
  }
}

function format({ id, name, data }: ServerSentEvent): string {
  return `${id === undefined ? "" : `id: ${id}\n`}${name === undefined ? "" : `event: ${name}\n`}data: ${data}\n\n`;
}
