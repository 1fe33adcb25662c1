/**
 * The wire of providers in this process. The body is the call as JSON, and the response has one event as JSON on each
 * line. So the calls and answers of such a provider are stored and read like those of any other (D3).
 */
import * as z from "zod";
import { AptoveError, failure, failureOf } from "../domain/errors.ts";
import { reasoningEfforts, reasoningSummaries, type AnswerFormat } from "../domain/context.ts";
import type { HistoryItem } from "../domain/history.ts";
import { unknownUsage } from "../domain/usage.ts";
import { onAbort } from "../system/abort.ts";
import type { ModelCall, PreparedRequest, ProviderEvent, ProviderFailed } from "./provider.ts";
import { failedEvent } from "./terminal-event.ts";

/**
 * Builds the request for a call. Stable fields come first and the history last, so that the requests of a session share
 * a long beginning (K3).
 */
export function prepareLocalCall(call: ModelCall, providerName: string): PreparedRequest {
  const items = call.items.filter((item) => item.type !== "reasoning" || item.provider === providerName);
  const body = JSON.stringify({
    model: call.model,
    store: call.store,
    settings: call.settings,
    tools: call.tools,
    toolChoice: call.toolChoice,
    allowedTools: call.allowedTools,
    ...(call.mustCall === true && { mustCall: true }),
    previousResponseId: call.previousResponseId,
    prompt: call.prompt,
    items,
  });
  const count = call.items.length - items.length;
  const { maxOutputTokens: outputTokensMax } = call.settings;
  return {
    model: call.model,
    body,
    dropped: count === 0 ? [] : [{ kind: "reasoning", count }],
    ...(outputTokensMax !== undefined && { outputTokensMax }),
  };
}

const media = z
  .array(z.object({ name: z.string(), mediaType: z.string(), bytes: z.number(), sha256: z.string(), blob: z.string() }))
  .exactOptional();

const historyItem = z.discriminatedUnion("type", [
  z.object({ type: z.literal("user"), parts: z.array(z.string()), media }),
  z.object({ type: z.literal("assistant"), text: z.string(), phase: z.string().exactOptional() }),
  z.object({
    type: z.literal("reasoning"),
    provider: z.string(),
    model: z.string(),
    text: z.string(),
    opaque: z.unknown().optional(),
  }),
  z.object({ type: z.literal("tool_call"), callId: z.string(), name: z.string(), arguments: z.string() }),
  z.object({
    type: z.literal("tool_result"),
    callId: z.string(),
    output: z.string(),
    isError: z.boolean().exactOptional(),
    media,
  }),
]);

const modelCall = z.object({
  model: z.string(),
  store: z.boolean(),
  settings: z.object({
    temperature: z.number().exactOptional(),
    topP: z.number().exactOptional(),
    maxOutputTokens: z.number().exactOptional(),
    reasoningEffort: z.enum(reasoningEfforts).exactOptional(),
    reasoningSummary: z.enum(reasoningSummaries).exactOptional(),
    verbosity: z.enum(["low", "medium", "high"]).exactOptional(),
    answerFormat: z.custom<AnswerFormat>().exactOptional(),
    parallelToolCalls: z.literal(false).exactOptional(),
    stop: z.array(z.string()).exactOptional(),
    cacheKey: z.string().exactOptional(),
  }),
  tools: z.array(
    z.object({
      name: z.string(),
      description: z.string().exactOptional(),
      parameters: z.record(z.string(), z.unknown()),
      strict: z.boolean().exactOptional(),
    }),
  ),
  toolChoice: z.string().nullable(),
  mustCall: z.literal(true).exactOptional(),
  allowedTools: z.array(z.string()).nullable(),
  previousResponseId: z.string().nullable(),
  prompt: z.string().nullable(),
  items: z.array(historyItem),
});

/** Reads the call in a body. Throws `provider_rejected` for a body that `prepareLocalCall` did not make. */
export function readLocalCall(body: string): ModelCall {
  try {
    return modelCall.parse(JSON.parse(body));
  } catch (error) {
    throw new AptoveError("provider_rejected", "the body is not a call that this provider prepared", { cause: error });
  }
}

type AnswerItem = Extract<HistoryItem, { type: "assistant" | "reasoning" | "tool_call" }>;

/** Gives the events of an item: a delta for each word, then the whole item. */
export function* itemEvents(itemId: string, item: AnswerItem): Generator<ProviderEvent, void, undefined> {
  switch (item.type) {
    case "assistant":
      for (const delta of splitWords(item.text)) yield { type: "text_delta", itemId, delta };
      break;
    case "reasoning":
      for (const delta of splitWords(item.text)) yield { type: "reasoning_delta", itemId, delta };
      break;
    case "tool_call":
      yield { type: "tool_call_started", callId: itemId, name: item.name };
      for (const delta of splitWords(item.arguments)) yield { type: "tool_call_delta", callId: itemId, delta };
      break;
  }
  yield { type: "item", itemId, item };
}

/** Splits a text into words, each with the space after it. Joined they are the text again. */
export function splitWords(text: string): string[] {
  return text.match(/\S+\s*|\s+/g) ?? [];
}

/**
 * Gives the events with the bytes of each before it. It keeps the contract whatever the source does: a throw becomes a
 * failed event, an abort ends the answer at once, even while the source waits, and an end without a last event is a cut
 * stream.
 */
export async function* sendLocally(
  events: AsyncIterable<ProviderEvent>,
  signal: AbortSignal,
): AsyncGenerator<ProviderEvent, void, undefined> {
  const aborted = Promise.withResolvers<"aborted">();
  const removeListener = onAbort(signal, () => aborted.resolve("aborted"));
  const iterator = events[Symbol.asyncIterator]();
  try {
    for (;;) {
      const next = signal.aborted ? "aborted" : await Promise.race([iterator.next(), aborted.promise]);
      const event = next === "aborted" ? interrupted() : next.done === true ? cut() : next.value;
      yield* withBytes(event);
      if (event.type === "finished" || event.type === "failed") return;
    }
  } catch (error) {
    yield* withBytes(signal.aborted ? interrupted() : failedEvent(failureOf(error)));
  } finally {
    removeListener();
    // The source may wait for something that never comes, so its end is not awaited.
    iterator.return?.().catch(() => "it already failed as a failed event");
  }
}

function interrupted(): ProviderFailed {
  return failedEvent(failure("interrupted", "the call was aborted"), { usage: unknownUsage });
}

function cut(): ProviderFailed {
  return failedEvent(failure("provider_stream_cut", "the answer ended without its last event"), {
    usage: unknownUsage,
  });
}

const encoder = new TextEncoder();

function* withBytes(event: ProviderEvent): Generator<ProviderEvent, void, undefined> {
  if (event.type !== "bytes") yield { type: "bytes", bytes: encoder.encode(`${JSON.stringify(event)}\n`) };
  yield event;
}
