/**
 * Turns the stream of one response into our events. It holds what the stream said so far and nothing else:
 * no clock, no network. Whole items are taken from `response.output_item.done`, where they are final.
 */
import { type Failure, failure } from "../../domain/errors.ts";
import type { StopReason } from "../../domain/events.ts";
import { noUsage, type Usage } from "../../domain/usage.ts";
import type { AnswerReader } from "../http-call.ts";
import type { ProviderEvent } from "../provider.ts";
import { failedEvent, type TerminalEvent } from "../terminal-event.ts";
import { failureInStream, readWireError } from "./failures.ts";
import { readWireEvent, type WireEvent, type WireItem, type WireResponse, type WireUsage } from "./wire.ts";

/** `requestedModel` is kept with reasoning, for it decides who may read it later (C5). */
export class ResponseReader implements AnswerReader {
  /** The event that ends the response, once it has come. What comes after it is not read. */
  terminal: TerminalEvent | null = null;
  /** Whether anything at all was understood. */
  hasBegun = false;

  readonly #providerName: string;
  readonly #requestedModel: string;
  /** What was already given of a message, a reasoning or a call, by its id. */
  readonly #given = new Map<string, string>();
  /** The part of a reasoning that is being given, by item id. */
  readonly #reasoningPart = new Map<string, string>();
  /** Call ids by their place in the output. */
  readonly #calls = new Map<number, string>();
  /** Messages that have begun to be given and whose whole item has not come. */
  readonly #openMessages = new Set<string>();
  readonly #refusals: string[] = [];
  #hasCalls = false;
  #hasText = false;
  /** The provider holds something of this response that we could not take. */
  #isPartial = false;

  constructor(providerName: string, requestedModel: string) {
    this.#providerName = providerName;
    this.#requestedModel = requestedModel;
  }

  /** Our events for the data of one server-sent event. Anything that cannot be understood ends the response. */
  read(data: string): ProviderEvent[] {
    if (this.terminal !== null || data === "[DONE]") return [];
    try {
      const event = readWireEvent(data);
      this.hasBegun = true;
      return event === null ? [] : this.#translate(event);
    } catch (error) {
      const what = error instanceof SyntaxError ? "an event is not JSON" : "an event lacks what its type promises";
      return this.#fail(failure("provider_answer_invalid", `${what}: ${data.slice(0, 200)}`), null);
    }
  }

  #translate(event: WireEvent): ProviderEvent[] {
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
        return this.#fail(failureInStream(readWireError(event.response.error)), event.response.usage);
      case "error":
        return this.#fail(failureInStream(readWireError(event.error ?? event)), null);
    }
  }

  #begin(index: number, item: WireItem): ProviderEvent[] {
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

  /** The parts of a reasoning become one text with a blank line between two of them. */
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

  #finishItem(index: number, item: WireItem): ProviderEvent[] {
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

  #finishMessage({ id, content, phase }: Extract<WireItem, { type: "message" }>): ProviderEvent[] {
    for (const part of content) if (part.type === "refusal") this.#refusals.push(part.refusal);
    const text = content.map((part) => (part.type === "output_text" ? part.text : "")).join("");
    if (text === "") return [];
    const rest = this.#textDelta(id, this.#rest(id, text));
    this.#openMessages.delete(id);
    const item = { type: "assistant" as const, text, ...(phase !== undefined && phase !== null && { phase }) };
    return [...rest, { type: "item", itemId: id, item }];
  }

  #finishReasoning(opaque: Extract<WireItem, { type: "reasoning" }>): ProviderEvent[] {
    const parts = [...opaque.summary, ...(opaque.content ?? [])].map((part) => part.text);
    const text = parts.filter((part) => part !== "").join("\n\n");
    const item = {
      type: "reasoning" as const,
      provider: this.#providerName,
      model: this.#requestedModel,
      text,
      opaque,
    };
    const rest = this.#rest(opaque.id, text);
    return [...this.#delta("reasoning_delta", opaque.id, rest), { type: "item", itemId: opaque.id, item }];
  }

  #finishCall(index: number, call: Extract<WireItem, { type: "function_call" }>): ProviderEvent[] {
    const begun = this.#begin(index, call);
    if (call.status === "incomplete") {
      // Cut off in the middle: nobody can run it, and the provider would wait for its result for ever.
      this.#isPartial = true;
      return [];
    }
    this.#hasCalls = true;
    const { call_id: callId, name } = call;
    const rest = this.#callDelta(index, this.#rest(callId, call.arguments));
    return [
      ...begun,
      ...rest,
      { type: "item", itemId: callId, item: { type: "tool_call", callId, name, arguments: call.arguments } },
    ];
  }

  /** What was not given yet of a final text; a server may send no deltas at all. */
  #rest(id: string, text: string): string {
    const given = this.#given.get(id) ?? "";
    return text.startsWith(given) ? text.slice(given.length) : "";
  }

  #complete(response: WireResponse): ProviderEvent[] {
    if (this.#refusals.length > 0) return this.#refuse(response);
    return this.#finish(response, this.#hasCalls ? "tool_calls" : "stop");
  }

  #stopEarly(response: WireResponse): ProviderEvent[] {
    if (this.#refusals.length > 0) return this.#refuse(response);
    const reason = response.incomplete_details?.reason ?? "no reason given";
    if (reason === "max_output_tokens") return this.#finish(response, "length");
    if (reason === "content_filter" && this.#hasText) return this.#finish(response, "content_filter");
    if (reason === "content_filter") {
      return this.#fail(failure("provider_refused_content", "its content filter stopped the answer"), response.usage);
    }
    return this.#fail(failure("provider_stream_cut", `it stopped before the end: ${reason}`), response.usage);
  }

  #refuse(response: WireResponse): ProviderEvent[] {
    return this.#fail(failure("provider_refused_content", this.#refusals.join(" ")), response.usage);
  }

  /** Nothing may continue a response whose remembered content differs from what we keep (C1). */
  #finish({ id, model, usage }: WireResponse, stopReason: StopReason): ProviderEvent[] {
    const responseId = this.#isPartial ? null : id;
    this.terminal = { type: "finished", stopReason, usage: readUsage(usage), responseId, model };
    // An answer that was cut short may end without the last message's own end.
    return [...this.#openMessages].map((itemId) => {
      const text = this.#given.get(itemId) ?? "";
      return { type: "item", itemId, item: { type: "assistant", text } };
    });
  }

  #fail(reason: Failure, usage: WireUsage | null | undefined): ProviderEvent[] {
    this.terminal = failedEvent(reason, { usage: readUsage(usage) });
    return [];
  }
}

function readUsage(usage: WireUsage | null | undefined): Usage {
  if (usage === null || usage === undefined) return noUsage;
  return {
    input: usage.input_tokens,
    output: usage.output_tokens,
    cached: usage.input_tokens_details?.cached_tokens ?? 0,
    reasoning: usage.output_tokens_details?.reasoning_tokens ?? 0,
    total: usage.total_tokens,
  };
}
