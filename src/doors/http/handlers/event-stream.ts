/**
 * Server-sent events (V1, V2). The stream is pulled by whoever reads it: a slow listener holds back its own
 * reading of the log and nothing else, and one that goes away ends it; the run notices neither (R5).
 */
import type { AgUiEvent } from "../../../protocol/ag-ui.ts";
import { withinMs } from "../../../system/abort.ts";

export interface IdentifiedEvent {
  id: string;
  event: AgUiEvent;
}

export interface EventStreamOptions {
  events: AsyncGenerator<IdentifiedEvent>;
  /** Aborted when the listener is gone, which ends events that are being waited for. */
  gone: AbortController;
  /** The request's own signal. */
  signal: AbortSignal;
  heartbeatMs: number;
  /** A source that breaks: the stream just ends, and whoever opens it again gets the error as an answer. */
  onFault: (error: unknown) => void;
}

const encoder = new TextEncoder();
/** A comment: readers skip it, and what stands between keeps the connection. */
const heartbeat = encoder.encode(":\n\n");

export const eventStreamHeaders = {
  "content-type": "text/event-stream; charset=utf-8",
  // Proxies that collect an answer before they pass it on would hold the events back.
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
    // Closed and not broken: a listener that went away is nothing that a server's log should tell.
    const abort = (): void => {
      leave();
      controller.close();
    };
    if (signal.aborted) abort();
    else signal.addEventListener("abort", abort, { once: true, signal: gone.signal });
  };
  // Nothing is read ahead of the listener.
  return new ReadableStream({ start, pull, cancel: leave }, { highWaterMark: 0 });
}

function format({ id, event }: IdentifiedEvent): string {
  return `id: ${id}\ndata: ${JSON.stringify(event)}\n\n`;
}
