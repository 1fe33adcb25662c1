/**
 * Turns the chunks of one answer of Gemini into our events. It holds what they said so far and nothing else: no
 * clock, no network. Each chunk has whole parts; a text is one item until something else follows.
 */
import type { FinishReason } from "@google/genai";
import { type Failure, failure } from "../../domain/errors.ts";
import type { StopReason } from "../../domain/events.ts";
import type { HistoryItem } from "../../domain/history.ts";
import type { Usage } from "../../domain/usage.ts";
import { CallIds } from "../call-ids.ts";
import type { AnswerReader } from "../http-call.ts";
import type { PreparedRequest, ProviderEvent } from "../provider.ts";
import { failedEvent, type TerminalEvent } from "../terminal-event.ts";
import { estimateUsage } from "../usage-estimate.ts";
import { failureInStream, readWireError } from "./failures.ts";
import type { OwnReasoning } from "./thought-signatures.ts";
import { readWireChunk, type WireCandidate, type WireChunk, type WirePart, type WireUsage } from "./wire.ts";

/** `malformed`: the model made a mistake, and may make none the next time. `cut`: it stopped for reasons of its own. */
type Ending = "stop" | "length" | "blocked" | "malformed" | "cut";

const endings: Record<`${FinishReason}`, Ending> = {
  FINISH_REASON_UNSPECIFIED: "cut",
  STOP: "stop",
  MAX_TOKENS: "length",
  SAFETY: "blocked",
  RECITATION: "blocked",
  LANGUAGE: "blocked",
  OTHER: "cut",
  BLOCKLIST: "blocked",
  PROHIBITED_CONTENT: "blocked",
  SPII: "blocked",
  MALFORMED_FUNCTION_CALL: "malformed",
  UNEXPECTED_TOOL_CALL: "malformed",
  TOO_MANY_TOOL_CALLS: "malformed",
  MALFORMED_RESPONSE: "malformed",
  IMAGE_SAFETY: "blocked",
  IMAGE_PROHIBITED_CONTENT: "blocked",
  IMAGE_RECITATION: "blocked",
  IMAGE_OTHER: "cut",
  NO_IMAGE: "cut",
  CONTINUATION: "cut",
};

interface Spoken {
  kind: "text" | "thought";
  itemId: string;
  text: string;
}

export class ChunkReader implements AnswerReader {
  hasBegun = false;

  readonly #providerName: string;
  readonly #request: PreparedRequest;
  readonly #ids: CallIds;
  readonly #output: HistoryItem[] = [];
  /** The text that is being said. */
  #spoken: Spoken | null = null;
  #itemsBegun = 0;
  #stopReason: StopReason | null = null;
  #failure: Failure | null = null;
  #usage: Usage | null = null;
  #model: string;

  constructor(providerName: string, request: PreparedRequest) {
    this.#providerName = providerName;
    this.#request = request;
    this.#ids = new CallIds(request.body);
    this.#model = request.model;
  }

  /** The finish reason ends the answer; usage is in every chunk, and the last one counts. */
  get terminal(): TerminalEvent | null {
    if (this.#failure !== null) return failedEvent(this.#failure, this.#usage === null ? {} : { usage: this.#usage });
    if (this.#stopReason === null) return null;
    return {
      type: "finished",
      stopReason: this.#stopReason,
      usage: this.#usage ?? estimateUsage(this.#request.body, this.#output),
      ...(this.#usage === null && { isUsageEstimated: true }),
      responseId: null,
      model: this.#model,
    };
  }

  /** Our events for the data of one server-sent event. Anything that cannot be understood ends the answer. */
  read(data: string): ProviderEvent[] {
    if (this.#failure !== null) return [];
    try {
      return this.#translate(readWireChunk(data));
    } catch (error) {
      if (this.#stopReason !== null) return [];
      const what = error instanceof SyntaxError ? "a chunk is not JSON" : "a chunk lacks what it needs";
      return this.#fail(failure("provider_answer_invalid", `${what}: ${data.slice(0, 200)}`));
    }
  }

  #translate({ candidates, promptFeedback, usageMetadata, modelVersion, error }: WireChunk): ProviderEvent[] {
    if (usageMetadata !== undefined) this.#usage = readUsage(usageMetadata);
    if (this.#stopReason !== null) return [];
    if (error !== undefined) return this.#fail(failureInStream(readWireError(error)));
    const started: ProviderEvent[] = this.hasBegun ? [] : [{ type: "started", responseId: null }];
    this.hasBegun = true;
    this.#model = modelVersion ?? this.#model;
    if (promptFeedback?.blockReason !== undefined) {
      return [...started, ...this.#refuse(promptFeedback.blockReason, promptFeedback.blockReasonMessage)];
    }
    const candidate = candidates?.[0];
    const said = (candidate?.content?.parts ?? []).flatMap((part) => this.#readPart(part));
    return [...started, ...said, ...(candidate?.finishReason === undefined ? [] : this.#finish(candidate))];
  }

  #readPart({ text = "", thought = false, thoughtSignature = "", functionCall }: WirePart): ProviderEvent[] {
    if (functionCall !== undefined) return this.#readCall(functionCall, thoughtSignature);
    const kind = thought ? "thought" : "text";
    const said = this.#speak(kind, text);
    if (thoughtSignature === "") return said;
    return [...said, ...this.#sign({ signs: kind, thoughtSignature, characters: text.length })];
  }

  #speak(kind: Spoken["kind"], delta: string): ProviderEvent[] {
    if (delta === "") return [];
    const ended = this.#spoken?.kind === kind ? [] : this.#endSpoken();
    this.#spoken ??= { kind, itemId: this.#newItemId(), text: "" };
    this.#spoken.text += delta;
    const type = kind === "text" ? "text_delta" : "reasoning_delta";
    return [...ended, { type, itemId: this.#spoken.itemId, delta }];
  }

  /** `opaque` goes with a thought that ends here. */
  #endSpoken(opaque?: OwnReasoning): ProviderEvent[] {
    const spoken = this.#spoken;
    if (spoken === null) return [];
    this.#spoken = null;
    const { kind, itemId, text } = spoken;
    return this.#give(itemId, kind === "text" ? { type: "assistant", text } : this.#reasoning(text, opaque));
  }

  /** Where no thought is open that could carry the signature, a reasoning without text does. */
  #sign(own: OwnReasoning): ProviderEvent[] {
    if (this.#spoken?.kind === "thought" && own.signs !== "text") return this.#endSpoken(own);
    return [...this.#endSpoken(), ...this.#give(this.#newItemId(), this.#reasoning("", own))];
  }

  #readCall({ id, name, args = {} }: NonNullable<WirePart["functionCall"]>, thoughtSignature: string): ProviderEvent[] {
    if (name === undefined) return this.#fail(failure("provider_answer_invalid", "a function call has no name"));
    const before = thoughtSignature === "" ? this.#endSpoken() : this.#sign({ signs: "call", thoughtSignature });
    const callId = this.#ids.next(id);
    const text = JSON.stringify(args);
    return [
      ...before,
      { type: "tool_call_started", callId, name },
      { type: "tool_call_delta", callId, delta: text },
      ...this.#give(callId, { type: "tool_call", callId, name, arguments: text }),
    ];
  }

  #reasoning(text: string, opaque?: OwnReasoning): HistoryItem {
    const { model } = this.#request;
    return { type: "reasoning", provider: this.#providerName, model, text, ...(opaque !== undefined && { opaque }) };
  }

  #give(itemId: string, item: HistoryItem): ProviderEvent[] {
    this.#output.push(item);
    return [{ type: "item", itemId, item }];
  }

  #newItemId(): string {
    this.#itemsBegun += 1;
    return `item_${this.#itemsBegun}`;
  }

  #finish({ finishReason = "", finishMessage }: WireCandidate): ProviderEvent[] {
    const events = this.#endSpoken();
    const has = (type: HistoryItem["type"]): boolean => this.#output.some((item) => item.type === type);
    switch (isKnown(finishReason) ? endings[finishReason] : "cut") {
      case "stop":
        this.#stopReason = has("tool_call") ? "tool_calls" : "stop";
        return events;
      case "length":
        this.#stopReason = "length";
        return events;
      case "blocked":
        if (!has("assistant")) return [...events, ...this.#refuse(finishReason, finishMessage)];
        this.#stopReason = "content_filter";
        return events;
      case "malformed": {
        const reason = failure("provider_answer_invalid", worded(finishReason, finishMessage));
        return [...events, ...this.#fail({ ...reason, retryable: true })];
      }
      case "cut": {
        const words = `it stopped before the end: ${worded(finishReason, finishMessage)}`;
        return [...events, ...this.#fail(failure("provider_stream_cut", words))];
      }
    }
  }

  #refuse(reason: string, message: string | undefined): ProviderEvent[] {
    return this.#fail(failure("provider_refused_content", worded(reason, message)));
  }

  #fail(reason: Failure): ProviderEvent[] {
    this.#failure = reason;
    return [];
  }
}

function isKnown(reason: string): reason is `${FinishReason}` {
  return Object.hasOwn(endings, reason);
}

function worded(reason: string, message: string | undefined): string {
  return (message === undefined || message === "" ? reason : `${message} (${reason})`).slice(0, 1_000);
}

/** What Gemini thought is counted beside what it said. */
function readUsage(usage: WireUsage): Usage {
  const input = (usage.promptTokenCount ?? 0) + (usage.toolUsePromptTokenCount ?? 0);
  const reasoning = usage.thoughtsTokenCount ?? 0;
  const output = (usage.candidatesTokenCount ?? 0) + reasoning;
  return {
    input,
    output,
    cached: usage.cachedContentTokenCount ?? 0,
    reasoning,
    total: usage.totalTokenCount ?? input + output,
  };
}
