/** Reads server-sent events: those of a turn, which are resumed after a broken connection (V2), and the news of a caller's sessions. */
import { createParser, type EventSourceMessage } from "eventsource-parser";
import type { AgUiEvent } from "../protocol/ag-ui.ts";
import { AptoveApiError } from "./api-error.ts";
import { mayComeBack, pauseAfter, type Retries } from "./retry.ts";

/** An event with its id. A stream that is opened with this id resumes right after the event. */
export interface StreamedEvent {
  id: string;
  event: AgUiEvent;
}

/** Returns true for the last event of a run: RUN_FINISHED or RUN_ERROR. */
export function isTerminalEvent(event: AgUiEvent): boolean {
  return event.type === "RUN_FINISHED" || event.type === "RUN_ERROR";
}

/** How long nothing may arrive, not even a heartbeat, before the connection counts as broken. */
export interface Silence {
  /** Milliseconds until the first piece. Absent: no limit. */
  firstMs?: number | undefined;
  /** Milliseconds between two pieces. Absent: no limit. */
  betweenMs?: number | undefined;
}

/** Yields the messages of one response as they arrive. Leaving the loop closes the connection. Throws `stream_cut` after too long a silence. */
async function* readMessages(
  response: Response,
  { firstMs, betweenMs }: Silence = {},
): AsyncGenerator<EventSourceMessage> {
  if (response.body === null) return;
  const arrived: EventSourceMessage[] = [];
  const parser = createParser({ onEvent: (message) => arrived.push(message) });
  const reader = response.body.getReader();
  const decoder = new TextDecoder();
  try {
    for (let silenceMs = firstMs; ; silenceMs = betweenMs) {
      const { done, value } = await within(reader.read(), silenceMs);
      if (done) return;
      parser.feed(decoder.decode(value, { stream: true }));
      yield* arrived.splice(0);
    }
  } finally {
    // The connection may be closed already, and cancelling wants nothing else.
    await reader.cancel().catch(() => undefined);
  }
}

/** Settles as the work does. Throws `stream_cut`, with `silenceMs` among its facts, if that takes longer. */
async function within<T>(work: Promise<T>, ms: number | undefined): Promise<T> {
  if (ms === undefined) return await work;
  const late = Promise.withResolvers<never>();
  const cut = (): void => late.reject(silent(ms));
  const timer = setTimeout(cut, ms);
  // Work that fails after its time is up concerns no caller any more.
  work.catch(() => undefined);
  return await Promise.race([work, late.promise]).finally(() => clearTimeout(timer));
}

function silent(silenceMs: number): AptoveApiError {
  return new AptoveApiError("stream_cut", `nothing arrived for ${silenceMs} ms`, {
    retryable: true,
    facts: { silenceMs },
  });
}

/** Opens a stream and yields its messages. The time until the answer begins counts as silence. */
export async function* messagesOf(
  open: (signal: AbortSignal) => Promise<Response>,
  { signal, ...silence }: Silence & { signal?: AbortSignal | undefined },
): AsyncGenerator<EventSourceMessage> {
  // A request that a proxy holds back would otherwise stay open behind its time.
  const leaving = new AbortController();
  try {
    yield* readMessages(await within(open(either(signal, leaving.signal)), silence.firstMs), silence);
  } finally {
    leaving.abort();
  }
}

function either(signal: AbortSignal | undefined, other: AbortSignal): AbortSignal {
  return signal === undefined ? other : AbortSignal.any([signal, other]);
}

/** Reads the data of a message. Throws `answer_invalid`. */
export function dataOf<T>(message: EventSourceMessage): T {
  try {
    return JSON.parse(message.data) as T;
  } catch (cause) {
    throw new AptoveApiError("answer_invalid", "the stream contains data that is not an event", { cause });
  }
}

export interface FollowEventsOptions extends Silence, Retries {
  /** Opens the stream after the event with this id. Null: from the start. */
  open: (lastId: string | null, signal: AbortSignal | undefined) => Promise<Response>;
  after?: string | null;
  /** True: a stream that ends before the terminal event is not broken. */
  endsEarly?: boolean;
}

/** Yields every event up to the terminal one, over as many connections as it takes. */
export async function* followEvents(options: FollowEventsOptions): AsyncGenerator<StreamedEvent> {
  let lastId = options.after ?? null;
  let wasOpen = false;
  let failures = 0;
  for (;;) {
    // The fault of this attempt alone. An answer of an hour ago does not explain why the stream breaks now.
    let fault: unknown;
    const leaving = new AbortController();
    try {
      const response = await within(options.open(lastId, either(options.signal, leaving.signal)), options.firstMs);
      wasOpen = true;
      // 204: the turn has ended, and the caller has received every event.
      if (response.status === 204) return;
      for await (const message of readMessages(response, options)) {
        const streamed: StreamedEvent = { id: message.id ?? "", event: dataOf<AgUiEvent>(message) };
        lastId = streamed.id;
        failures = 0;
        yield streamed;
        if (isTerminalEvent(streamed.event)) return;
      }
      if (options.endsEarly === true) return;
    } catch (error) {
      const end = beforeEnd(error);
      if (options.signal?.aborted || (end === null && !mayComeBack(error, wasOpen))) throw error;
      if (end !== null) lastId = end.lastId;
      fault = error;
    } finally {
      leaving.abort();
    }
    failures += 1;
    if (failures > options.retries) {
      // The server's own error is clearer than a report of repeated failures.
      if (!wasOpen || fault instanceof AptoveApiError) throw fault;
      throw new AptoveApiError("stream_cut", `the stream broke ${failures} times in a row`, { cause: fault });
    }
    await pauseAfter(fault, failures, options);
  }
}

/**
 * Returns the position before the end of a turn that has ended with fewer events than this client received: the others were lost
 * with the process that ran it (R2). Its terminal event is still to come. Null for any other error.
 */
function beforeEnd(error: unknown): { lastId: string | null } | null {
  if (!(error instanceof AptoveApiError) || error.code !== "event_id_unknown") return null;
  const [, turnId, number] = /^(.+):(\d+)$/.exec(String(error.facts["lastEventId"])) ?? [];
  if (number === undefined) return null;
  return { lastId: number === "1" ? null : `${turnId}:${Number(number) - 1}` };
}
