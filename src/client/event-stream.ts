/** Reads a turn's events as server-sent events. After a broken connection it resumes after the last event (V2). */
import { createParser, type EventSourceMessage } from "eventsource-parser";
import type { AgUiEvent } from "../protocol/ag-ui.ts";
import { AptoveApiError } from "./api-error.ts";

/** An event with its id. A stream that is opened with this id resumes right after the event. */
export interface StreamedEvent {
  id: string;
  event: AgUiEvent;
}

/** Returns true for the last event of a run: RUN_FINISHED or RUN_ERROR. */
export function isTerminalEvent(event: AgUiEvent): boolean {
  return event.type === "RUN_FINISHED" || event.type === "RUN_ERROR";
}

/** Yields the events of one response as they arrive. Leaving the loop closes the connection. */
async function* readEvents(response: Response): AsyncGenerator<StreamedEvent> {
  if (response.body === null) return;
  const arrived: EventSourceMessage[] = [];
  const parser = createParser({ onEvent: (message) => arrived.push(message) });
  const reader = response.body.getReader();
  const decoder = new TextDecoder();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      parser.feed(decoder.decode(value, { stream: true }));
      yield* arrived.splice(0).map(streamedEvent);
    }
  } finally {
    // The connection may be closed already, and cancelling wants nothing else.
    await reader.cancel().catch(() => undefined);
  }
}

function streamedEvent(message: EventSourceMessage): StreamedEvent {
  try {
    return { id: message.id ?? "", event: JSON.parse(message.data) as AgUiEvent };
  } catch (cause) {
    throw new AptoveApiError("answer_invalid", "the stream contains data that is not an event", { cause });
  }
}

export interface FollowEventsOptions {
  /** Opens the stream after the event with this id. Null: from the start. */
  open: (lastId: string | null) => Promise<Response>;
  after?: string | null;
  /** How many times in a row the stream may fail without a new event. */
  retries: number;
  backoffMs: number;
  signal?: AbortSignal | undefined;
}

/** Yields every event up to the terminal one, over as many connections as it takes. */
export async function* followEvents(options: FollowEventsOptions): AsyncGenerator<StreamedEvent> {
  let lastId = options.after ?? null;
  let wasOpen = false;
  let failures = 0;
  for (;;) {
    // The fault of this attempt alone. An answer of an hour ago does not explain why the stream breaks now.
    let fault: unknown;
    try {
      const response = await options.open(lastId);
      wasOpen = true;
      // 204: the turn has ended, and the caller has received every event.
      if (response.status === 204) return;
      for await (const streamed of readEvents(response)) {
        lastId = streamed.id;
        failures = 0;
        yield streamed;
        if (isTerminalEvent(streamed.event)) return;
      }
    } catch (error) {
      if (options.signal?.aborted || !mayComeBack(error, wasOpen)) throw error;
      fault = error;
    }
    failures += 1;
    if (failures > options.retries) {
      // The server's own error is clearer than a report of repeated failures.
      if (!wasOpen || fault instanceof AptoveApiError) throw fault;
      throw new AptoveApiError("stream_cut", `the stream broke ${failures} times in a row`, { cause: fault });
    }
    const requestedMs = fault instanceof AptoveApiError ? (fault.retryAfterMs ?? 0) : 0;
    await pause(Math.max(requestedMs, options.backoffMs * 2 ** (failures - 1)), options.signal);
  }
}

const noServerReasons = new Set(["ECONNREFUSED", "ENOTFOUND"]);

/**
 * Returns whether opening the stream again may work. Before the stream was open for the first time, every refusal
 * goes to the caller (`session_busy` too), and so does a missing server. A request whose connection broke is retried.
 */
function mayComeBack(error: unknown, wasOpen: boolean): boolean {
  if (!(error instanceof AptoveApiError)) return isNetworkError(error);
  if (wasOpen) return error.retryable;
  return error.code === "unreachable" && !noServerReasons.has(String(error.facts["reason"]));
}

/** Returns true for a broken connection. `fetch` throws a TypeError if a body breaks off; errors of a socket have a code. */
function isNetworkError(error: unknown): boolean {
  return error instanceof TypeError || (error instanceof Error && "code" in error);
}

function pause(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const abort = () => {
      clearTimeout(timer);
      reject(signal?.reason as Error);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", abort);
      resolve();
    }, ms);
    if (signal?.aborted) abort();
    else signal?.addEventListener("abort", abort, { once: true });
  });
}
