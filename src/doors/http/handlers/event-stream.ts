/**
 * Server-sent events (V1, V2). The listener pulls the stream. A slow listener delays only its own reading of the log, and a
 * listener that leaves ends it. Neither affects the run (R5).
 */
import type { AgUiEvent } from "../../../protocol/ag-ui.ts";
import { withinMs } from "../../../system/abort.ts";

export interface IdentifiedEvent {
  id: string;
  event: AgUiEvent;
}

export interface EventStreamOptions {
  events: AsyncGenerator<IdentifiedEvent>;
  /** Aborted when the listener has left. This ends a pending wait for the next event. */
  gone: AbortController;
  /** The signal of the request. */
  signal: AbortSignal;
  heartbeatMs: number;
  /** Receives the error if the source fails. The stream only ends; a client that opens it again gets the error as a response. */
  onFault: (error: unknown) => void;
}

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
  let next: Promise<IteratorResult<IdentifiedEvent>> | null = null;

  const leave = (): void => {
    gone.abort();
    events.return(undefined).catch(onFault);
  };
  const pull = async (controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> => {
    next ??= events.next();
    try {
      const result = await withinMs(options.heartbeatMs, next);
      if (gone.signal.aborted) return;
      if (result === null) return controller.enqueue(heartbeat);
      next = null;
      if (!result.done) return controller.enqueue(encoder.encode(format(result.value)));
    } catch (error) {
      if (gone.signal.aborted) return;
      onFault(error);
    }
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
  // A high-water mark of 0: nothing is read ahead of the listener.
  return new ReadableStream({ start, pull, cancel: leave }, { highWaterMark: 0 });
}

function format({ id, event }: IdentifiedEvent): string {
  return `id: ${id}\ndata: ${JSON.stringify(event)}\n\n`;
}
