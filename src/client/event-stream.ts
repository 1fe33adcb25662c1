/** Reading a turn's events: server-sent events that are picked up again where the connection broke (V2). */
import { createParser } from "eventsource-parser";
import type { EventSourceMessage } from "eventsource-parser";
import type { AgUiEvent } from "../protocol/ag-ui.ts";
import { AptoveApiError } from "./api-error.ts";

/** An event with its id, which resumes the stream right after it. */
export interface StreamedEvent {
  id: string;
  event: AgUiEvent;
}

export function isTerminal(event: AgUiEvent): boolean {
  return event.type === "RUN_FINISHED" || event.type === "RUN_ERROR";
}

/** Events of one answer, as they come. Leaving the loop closes the connection. */
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
    // The connection may be gone already, which is what cancelling asks for.
    await reader.cancel().catch(() => undefined);
  }
}

function streamedEvent(message: EventSourceMessage): StreamedEvent {
  try {
    return { id: message.id ?? "", event: JSON.parse(message.data) as AgUiEvent };
  } catch (cause) {
    throw new AptoveApiError("answer_invalid", "the stream holds something that is not an event", { cause });
  }
}

export interface FollowOptions {
  /** Opens the stream after an event; null: from the start. */
  open: (lastId: string | null) => Promise<Response>;
  after?: string | null;
  /** How often in a row it may fail without one new event. */
  retries: number;
  backoffMs: number;
  signal?: AbortSignal | undefined;
}

/** Every event up to the terminal one, over dropped connections. */
export async function* followEvents(options: FollowOptions): AsyncGenerator<StreamedEvent> {
  let lastId = options.after ?? null;
  let wasOpen = false;
  let failures = 0;
  for (;;) {
    // Of this try alone: what a server said an hour ago does not tell why a stream breaks now.
    let fault: unknown;
    try {
      const response = await options.open(lastId);
      wasOpen = true;
      // 204: the turn is finished and everything was had.
      if (response.status === 204) return;
      for await (const streamed of readEvents(response)) {
        lastId = streamed.id;
        failures = 0;
        yield streamed;
        if (isTerminal(streamed.event)) return;
      }
    } catch (error) {
      if (options.signal?.aborted || !mayComeBack(error, wasOpen)) throw error;
      fault = error;
    }
    failures += 1;
    if (failures > options.retries) {
      // What the server itself said is clearer than that it was said several times.
      if (!wasOpen || fault instanceof AptoveApiError) throw fault;
      throw new AptoveApiError("stream_cut", `the stream broke ${failures} times in a row`, { cause: fault });
    }
    const asked = fault instanceof AptoveApiError ? (fault.retryAfterMs ?? 0) : 0;
    await pause(Math.max(asked, options.backoffMs * 2 ** (failures - 1)), options.signal);
  }
}

const neverThere = new Set(["ECONNREFUSED", "ENOTFOUND"]);

/**
 * Whether the stream may be had by opening it again. Before it was ever open a refusal is the caller's to
 * see (`session_busy` too), and so is a server that is not there; a request whose connection broke is not.
 */
function mayComeBack(error: unknown, wasOpen: boolean): boolean {
  if (!(error instanceof AptoveApiError)) return isNetworkError(error);
  if (wasOpen) return error.retryable;
  return error.code === "unreachable" && !neverThere.has(String(error.facts["reason"]));
}

/** `fetch` gives a TypeError for a body that breaks off; a socket's own errors have a code. */
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
