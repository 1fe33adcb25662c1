/**
 * Turns the chunks of one chat completion into our events. It holds what they said so far and nothing else: no
 * clock, no network. A chat completion is one message; here it becomes items in the order in which they began.
 */
import { type Failure, failure } from "../../domain/errors.ts";
import type { StopReason } from "../../domain/events.ts";
import type { HistoryItem } from "../../domain/history.ts";
import type { Usage } from "../../domain/usage.ts";
import { isObjectText } from "../call-arguments.ts";
import { CallIds } from "../call-ids.ts";
import type { AnswerReader } from "../http-call.ts";
import type { PreparedRequest, ProviderEvent } from "../provider.ts";
import { failedEvent, type TerminalEvent } from "../terminal-event.ts";
import { estimateUsage } from "../usage-estimate.ts";
import { failureInStream, readWireError } from "./failures.ts";
import { type ReasoningField, reasoningFields } from "./request-body.ts";
import { type StreamedCall, StreamedCalls } from "./tool-calls.ts";
import {
  readWireChunk,
  type WireChunk,
  type WireDelta,
  type WireToolCallPiece,
  type WireUsage,
} from "./wire.ts";

/** OpenAI's reasons, and those of TGI and Mistral. An answer that ends with any other is none (C7). */
const stopReasons = new Map<string, StopReason>(
  Object.entries({
    stop: "stop",
    eos_token: "stop",
    stop_sequence: "stop",
    tool_calls: "tool_calls",
    function_call: "tool_calls",
    length: "length",
    model_length: "length",
    content_filter: "content_filter",
  } satisfies Record<string, StopReason>),
);

interface Spoken {
  kind: "text" | "reasoning";
  itemId: string;
  text: string;
  /** Where a reasoning came in, so that it can go back the same way. */
  field?: ReasoningField;
}

type Block = Spoken | { kind: "call"; call: StreamedCall };

export class ChunkReader implements AnswerReader {
  hasBegun = false;

  readonly #providerName: string;
  readonly #request: PreparedRequest;
  readonly #ids: CallIds;
  readonly #calls = new StreamedCalls();
  /** What has begun and was not given whole yet, in order. */
  readonly #blocks: Block[] = [];
  readonly #output: HistoryItem[] = [];
  #refusal = "";
  #blocksBegun = 0;
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

  /** The finish reason ends the answer; the usage comes in a chunk after it, where it comes at all. */
  get terminal(): TerminalEvent | null {
    if (this.#failure !== null) return failedEvent(this.#failure, this.#usage === null ? {} : { usage: this.#usage });
    if (this.#stopReason === null) return null;
    const usage = this.#usage ?? estimateUsage(this.#request.body, this.#output);
    return {
      type: "finished",
      stopReason: this.#stopReason,
      usage,
      ...(this.#usage === null && { isUsageEstimated: true }),
      responseId: null,
      model: this.#model,
    };
  }

  /** Our events for the data of one server-sent event. Anything that cannot be understood ends the answer. */
  read(data: string): ProviderEvent[] {
    if (this.#failure !== null || data === "[DONE]") return [];
    try {
      return this.#translate(readWireChunk(data));
    } catch (error) {
      if (this.#stopReason !== null) return [];
      const what = error instanceof SyntaxError ? "a chunk is not JSON" : "a chunk lacks what it needs";
      return this.#fail(failure("provider_answer_invalid", `${what}: ${data.slice(0, 200)}`));
    }
  }

  #translate(chunk: WireChunk): ProviderEvent[] {
    if (chunk.usage !== null && chunk.usage !== undefined) this.#usage = readUsage(chunk.usage);
    if (this.#stopReason !== null) return [];
    if (chunk.error !== null && chunk.error !== undefined)
      return this.#fail(failureInStream(readWireError(chunk.error)));
    const started: ProviderEvent[] = this.hasBegun ? [] : [{ type: "started", responseId: null }];
    this.hasBegun = true;
    this.#model = chunk.model || this.#model;
    const choice = chunk.choices?.[0];
    const said = this.#readDelta(choice?.delta ?? {});
    const reason = choice?.finish_reason ?? "";
    return [...started, ...said, ...(reason === "" ? [] : this.#finish(reason))];
  }

  #readDelta(delta: WireDelta): ProviderEvent[] {
    this.#refusal += delta.refusal ?? "";
    // Some servers give the same reasoning in both fields.
    const field = reasoningFields.find((name) => (delta[name] ?? "") !== "");
    return [
      ...(field === undefined ? [] : this.#speak("reasoning", delta[field] ?? "", field)),
      ...this.#speak("text", delta.content ?? ""),
      ...(delta.tool_calls ?? []).flatMap((piece) => this.#readCall(piece)),
    ];
  }

  #speak(kind: Spoken["kind"], delta: string, field?: ReasoningField): ProviderEvent[] {
    if (delta === "") return [];
    const last = this.#blocks.at(-1);
    if (last?.kind === kind) {
      last.text += delta;
      return [deltaOf(last, delta)];
    }
    const ended = this.#endSpoken();
    this.#blocksBegun += 1;
    const itemId = `${kind}_${this.#blocksBegun}`;
    const block: Spoken = { kind, itemId, text: delta, ...(field !== undefined && { field }) };
    this.#blocks.push(block);
    return [...ended, deltaOf(block, delta)];
  }

  /** A call is shown once its name is known. */
  #readCall(piece: WireToolCallPiece): ProviderEvent[] {
    const call = this.#calls.add(piece);
    if (call.callId !== null) return callDelta(call.callId, piece.function?.arguments ?? "");
    if (call.name === "") return [];
    const ended = this.#endSpoken();
    call.callId = this.#ids.next(call.wireId);
    this.#blocks.push({ kind: "call", call });
    const started: ProviderEvent = { type: "tool_call_started", callId: call.callId, name: call.name };
    return [...ended, started, ...callDelta(call.callId, call.arguments)];
  }

  /** Something else follows, so what was said is whole. What began after a call waits for it: pieces of calls may alternate. */
  #endSpoken(): ProviderEvent[] {
    const events: ProviderEvent[] = [];
    for (let block = this.#blocks[0]; block !== undefined && block.kind !== "call"; block = this.#blocks[0]) {
      events.push(...this.#give(block.itemId, this.#spokenItem(block)));
      this.#blocks.shift();
    }
    return events;
  }

  #spokenItem({ kind, text, field }: Spoken): HistoryItem {
    if (kind === "text") return { type: "assistant", text };
    return { type: "reasoning", provider: this.#providerName, model: this.#request.model, text, opaque: { field } };
  }

  #give(itemId: string, item: HistoryItem): ProviderEvent[] {
    this.#output.push(item);
    return [{ type: "item", itemId, item }];
  }

  #finish(reason: string): ProviderEvent[] {
    const stopReason = stopReasons.get(reason);
    if (stopReason === undefined) {
      return this.#fail(failure("provider_stream_cut", `it stopped before the end: ${reason.slice(0, 200)}`));
    }
    const isCut = stopReason === "length" || stopReason === "content_filter";
    if (!isCut && this.#calls.all.some((call) => call.callId === null)) {
      return this.#fail(failure("provider_answer_invalid", "a tool call has no name"));
    }
    const events = this.#blocks.splice(0).flatMap((block) => this.#giveLast(block, isCut));
    if (this.#refusal !== "") return [...events, ...this.#fail(refused(this.#refusal))];
    if (stopReason === "content_filter" && !this.#output.some((item) => item.type === "assistant")) {
      return [...events, ...this.#fail(refused("its content filter stopped the answer"))];
    }
    // Some servers say `stop` after calls, others `tool_calls` without any.
    const hasCalls = this.#output.some((item) => item.type === "tool_call");
    this.#stopReason = isCut ? stopReason : hasCalls ? "tool_calls" : "stop";
    return events;
  }

  /** A call that was cut off in the middle is not given: nobody could run it (T8). */
  #giveLast(block: Block, isCut: boolean): ProviderEvent[] {
    if (block.kind !== "call") return this.#give(block.itemId, this.#spokenItem(block));
    const { callId, name } = block.call;
    if (callId === null || (isCut && !isObjectText(block.call.arguments))) return [];
    // Nothing stands for no arguments, which our history writes as JSON.
    const missing = block.call.arguments === "" ? "{}" : "";
    const args = block.call.arguments + missing;
    return [...callDelta(callId, missing), ...this.#give(callId, { type: "tool_call", callId, name, arguments: args })];
  }

  #fail(reason: Failure): ProviderEvent[] {
    this.#failure = reason;
    return [];
  }
}

function refused(words: string): Failure {
  return failure("provider_refused_content", words);
}

function deltaOf({ kind, itemId }: Spoken, delta: string): ProviderEvent {
  return { type: kind === "text" ? "text_delta" : "reasoning_delta", itemId, delta };
}

function callDelta(callId: string, delta: string): ProviderEvent[] {
  return delta === "" ? [] : [{ type: "tool_call_delta", callId, delta }];
}

function readUsage(usage: WireUsage): Usage {
  const output = usage.completion_tokens ?? 0;
  return {
    input: usage.prompt_tokens,
    output,
    cached: usage.prompt_tokens_details?.cached_tokens ?? 0,
    reasoning: usage.completion_tokens_details?.reasoning_tokens ?? 0,
    total: usage.total_tokens ?? usage.prompt_tokens + output,
  };
}
