/**
 * Turns the stream of one response into our events. It keeps what the stream has sent so far and nothing else. Whole
 * items are taken from `response.output_item.done`, where they are final.
 */
import { failure } from "../../domain/errors.ts";
import type { StopReason } from "../../domain/events.ts";
import type { Usage } from "../../domain/usage.ts";
import type { AnswerWire, PartReader } from "../answer-reader.ts";
import type { AnswerState } from "../answer-state.ts";
import { inItsWords, streamErrorFailure } from "../http-failures.ts";
import type { ProviderEvent } from "../provider.ts";
import { openaiErrors } from "./failures.ts";
import {
  type OpenAIEvent,
  type OpenAIOutputItem,
  type OpenAIResponse,
  type OpenAIUsage,
  parseOpenAIEvent,
} from "./wire.ts";

export const openaiAnswers: AnswerWire<OpenAIEvent> = {
  parse: parseOpenAIEvent,
  newReader: (answer) => new OpenAIStreamReader(answer),
  endMark: "[DONE]",
};

class OpenAIStreamReader implements PartReader<OpenAIEvent> {
  readonly #answer: AnswerState;
  /** The text that was already given of a message, a reasoning or a call, by its id. */
  readonly #given = new Map<string, string>();
  /** The part of a reasoning that is being given, by item id. */
  readonly #reasoningPart = new Map<string, string>();
  /** The call ids by their index in the output. */
  readonly #calls = new Map<number, string>();
  /** The messages that have begun and whose whole item has not come. */
  readonly #openMessages = new Set<string>();
  readonly #refusals: string[] = [];
  #hasText = false;
  /** True if the provider holds something of this response that we could not take. */
  #isPartial = false;

  constructor(answer: AnswerState) {
    this.#answer = answer;
  }

  read(event: OpenAIEvent): ProviderEvent[] {
    switch (event.type) {
      case "response.created":
        return [{ type: "started", responseId: event.response.id }];
      case "response.output_item.added":
        return this.#begin(event.output_index, event.item);
      case "response.output_item.done":
        return this.#finishItem(event.output_index, event.item);
      case "response.output_text.delta":
        return this.#textDelta(event.item_id, event.delta);
      case "response.reasoning_summary_text.delta":
        return this.#reasoningDelta(event.item_id, `summary ${event.summary_index}`, event.delta);
      case "response.reasoning_text.delta":
        return this.#reasoningDelta(event.item_id, `text ${event.content_index}`, event.delta);
      case "response.function_call_arguments.delta":
        return this.#callDelta(event.output_index, event.delta);
      case "response.completed":
        return this.#complete(event.response);
      case "response.incomplete":
        return this.#stopEarly(event.response);
      case "response.failed":
        this.#answer.reportUsage(readUsage(event.response.usage));
        return this.#answer.fail(streamErrorFailure(openaiErrors, this.#answer.provider, event.response.error));
      case "error":
        return this.#answer.fail(streamErrorFailure(openaiErrors, this.#answer.provider, event.error ?? event));
    }
  }

  #begin(index: number, item: OpenAIOutputItem): ProviderEvent[] {
    if (item.type !== "function_call" || this.#calls.has(index)) return [];
    this.#calls.set(index, item.call_id);
    return [{ type: "tool_call_started", callId: item.call_id, name: item.name }];
  }

  #delta(type: "text_delta" | "reasoning_delta", itemId: string, delta: string): ProviderEvent[] {
    if (delta === "") return [];
    this.#given.set(itemId, (this.#given.get(itemId) ?? "") + delta);
    return [{ type, itemId, delta }];
  }

  #textDelta(itemId: string, delta: string): ProviderEvent[] {
    if (delta === "") return [];
    this.#hasText = true;
    this.#openMessages.add(itemId);
    return this.#delta("text_delta", itemId, delta);
  }

  /** The parts of a reasoning become one text, with a blank line between two of them. */
  #reasoningDelta(itemId: string, part: string, delta: string): ProviderEvent[] {
    const isNext = this.#reasoningPart.has(itemId) && this.#reasoningPart.get(itemId) !== part;
    this.#reasoningPart.set(itemId, part);
    return this.#delta("reasoning_delta", itemId, isNext ? `\n\n${delta}` : delta);
  }

  #callDelta(index: number, delta: string): ProviderEvent[] {
    const callId = this.#calls.get(index);
    if (callId === undefined || delta === "") return [];
    this.#given.set(callId, (this.#given.get(callId) ?? "") + delta);
    return [{ type: "tool_call_delta", callId, delta }];
  }

  #finishItem(index: number, item: OpenAIOutputItem): ProviderEvent[] {
    switch (item.type) {
      case "message":
        return this.#finishMessage(item);
      case "reasoning":
        return this.#finishReasoning(item);
      case "function_call":
        return this.#finishCall(index, item);
      case "other":
        this.#isPartial = true;
        return [];
    }
  }

  #finishMessage({ id, content, phase }: Extract<OpenAIOutputItem, { type: "message" }>): ProviderEvent[] {
    for (const part of content) if (part.type === "refusal") this.#refusals.push(part.refusal);
    const text = content.map((part) => (part.type === "output_text" ? part.text : "")).join("");
    if (text === "") return [];
    const rest = this.#textDelta(id, this.#rest(id, text));
    this.#openMessages.delete(id);
    const item = { type: "assistant" as const, text, ...(phase !== undefined && phase !== null && { phase }) };
    return [...rest, this.#answer.give(id, item)];
  }

  #finishReasoning(opaque: Extract<OpenAIOutputItem, { type: "reasoning" }>): ProviderEvent[] {
    const parts = [...opaque.summary, ...(opaque.content ?? [])].map((part) => part.text);
    const text = parts.filter((part) => part !== "").join("\n\n");
    const rest = this.#delta("reasoning_delta", opaque.id, this.#rest(opaque.id, text));
    return [...rest, this.#answer.giveReasoning(opaque.id, text, opaque)];
  }

  #finishCall(index: number, call: Extract<OpenAIOutputItem, { type: "function_call" }>): ProviderEvent[] {
    const begun = this.#begin(index, call);
    if (call.status === "incomplete") {
      // The call was cut off: it cannot be run, and the provider would never get a result for it.
      this.#isPartial = true;
      return [];
    }
    const { call_id: callId, name } = call;
    const rest = this.#callDelta(index, this.#rest(callId, call.arguments));
    const item = { type: "tool_call" as const, callId, name, arguments: call.arguments };
    return [...begun, ...rest, this.#answer.give(callId, item)];
  }

  /** Returns what was not given yet of a final text. A server may send no deltas at all. */
  #rest(id: string, text: string): string {
    const given = this.#given.get(id) ?? "";
    return text.startsWith(given) ? text.slice(given.length) : "";
  }

  #complete(response: OpenAIResponse): ProviderEvent[] {
    if (this.#refusals.length > 0)
      return this.#refuse(response, inItsWords(this.#answer.provider, this.#refusals.join(" ")));
    return this.#finish(response, this.#answer.has("tool_call") ? "tool_calls" : "stop");
  }

  #stopEarly(response: OpenAIResponse): ProviderEvent[] {
    if (this.#refusals.length > 0)
      return this.#refuse(response, inItsWords(this.#answer.provider, this.#refusals.join(" ")));
    const reason = response.incomplete_details?.reason ?? "no reason given";
    if (reason === "max_output_tokens") return this.#finish(response, "length");
    if (reason === "content_filter" && this.#hasText) return this.#finish(response, "content_filter");
    if (reason === "content_filter")
      return this.#refuse(response, `the content filter of ${this.#answer.provider} stopped the answer`);
    this.#answer.reportUsage(readUsage(response.usage));
    return this.#answer.fail(
      failure("provider_stream_cut", `${this.#answer.provider} stopped before the end: ${reason}`),
    );
  }

  #refuse({ usage }: OpenAIResponse, message: string): ProviderEvent[] {
    this.#answer.reportUsage(readUsage(usage));
    return this.#answer.fail(failure("provider_refused_content", message));
  }

  /** A response whose remembered content differs from what we keep must not be continued, so it gets no id (C1). */
  #finish({ id, model, usage }: OpenAIResponse, stopReason: StopReason): ProviderEvent[] {
    const answer = this.#answer;
    answer.reportUsage(readUsage(usage));
    answer.responseId = this.#isPartial ? null : id;
    answer.model = model;
    answer.finish(stopReason);
    // An answer that was cut may end without the end of its last message.
    return [...this.#openMessages].map((itemId) =>
      answer.give(itemId, { type: "assistant", text: this.#given.get(itemId) ?? "" }),
    );
  }
}

function readUsage(usage: OpenAIUsage | null | undefined): Usage | null {
  if (usage === null || usage === undefined) return null;
  const written = usage.input_tokens_details?.cache_write_tokens ?? 0;
  return {
    input: usage.input_tokens,
    output: usage.output_tokens,
    cached: usage.input_tokens_details?.cached_tokens ?? 0,
    reasoning: usage.output_tokens_details?.reasoning_tokens ?? 0,
    total: usage.total_tokens,
    ...(written > 0 && { written }),
  };
}
