/** Answers with a stream of events in OpenAI's form: each has its name, none has an id, and the last line is `[DONE]`. */
import { eventStream, eventStreamHeaders, eventText, type ServerSentEvent } from "../event-stream.ts";
import type { DoorCall, OpenAiParts } from "./door-call.ts";

interface StreamOptions {
  events: AsyncIterable<{ type?: string }>;
  /** Aborted when the client has left. */
  gone: AbortController;
  /** False for events that have no name, as those of chat completions. */
  isNamed?: boolean;
}

export function streamAnswer(
  { heartbeatMs, report }: OpenAiParts,
  { request, watchKey }: Pick<DoorCall, "request" | "watchKey">,
  { events, gone, isNamed = true }: StreamOptions,
): Response {
  const keyEnd = new AbortController();
  const unwatch = watchKey(() => keyEnd.abort());
  gone.signal.addEventListener("abort", unwatch, { once: true });
  const body = eventStream({
    events: framed(events, isNamed),
    textOf: eventText,
    gone,
    heartbeatMs,
    signal: AbortSignal.any([request.signal, keyEnd.signal]),
    onFault: (error) => report("a stream of a response broke; its client can open it again", error),
  });
  return new Response(body, { headers: eventStreamHeaders });
}

async function* framed(events: AsyncIterable<{ type?: string }>, isNamed: boolean): AsyncGenerator<ServerSentEvent> {
  for await (const event of events) {
    yield { ...(isNamed && event.type !== undefined && { name: event.type }), data: JSON.stringify(event) };
  }
  yield { data: "[DONE]" };
}
