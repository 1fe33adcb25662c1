/**
 * Turns the chunks of one chat completion into our events. It keeps what the chunks have sent so far and nothing else.
 * A chat completion is one message; here it becomes items, in the order in which they began.
 */
import { type Failure, failure } from "../../domain/errors.ts";
import type { StopReason } from "../../domain/events.ts";
import type { Usage } from "../../domain/usage.ts";
import type { AnswerWire, PartReader } from "../answer-reader.ts";
import type { AnswerState } from "../answer-state.ts";
import { inItsWords, streamErrorFailure } from "../http-failures.ts";
import type { ProviderEvent } from "../provider.ts";
import { compatibleErrors } from "./failures.ts";
import { type ReasoningField, reasoningFields } from "./request-body.ts";
import { type StreamedCall, StreamedCalls } from "./tool-calls.ts";
import {
  type CompatibleCallPiece,
  type CompatibleChunk,
  type CompatibleDelta,
  type CompatibleUsage,
  parseCompatibleChunk,
} from "./wire.ts";

/** OpenAI's reasons, and those of TGI and Mistral. An answer that ends with any other reason is a failure (C7). */
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

interface TextBlock {
  kind: "text" | "reasoning";
  itemId: string;
  text: string;
  /** The field in which a reasoning came; it goes back in the same one. */
  field?: ReasoningField;
}

type AnswerBlock = TextBlock | { kind: "call"; call: StreamedCall };

/** The finish reason ends the answer. The usage comes in a chunk after it, if it comes at all. */
export const compatibleAnswers: AnswerWire<CompatibleChunk> = {
  parse: parseCompatibleChunk,
  newReader: (answer) => new CompatibleStreamReader(answer),
  usageIn: ({ usage }) => (usage === null || usage === undefined ? null : readUsage(usage)),
  endMark: "[DONE]",
};

class CompatibleStreamReader implements PartReader<CompatibleChunk> {
  readonly #answer: AnswerState;
  readonly #calls = new StreamedCalls();
  /** The blocks that have begun and were not given whole yet, in order. */
  readonly #blocks: AnswerBlock[] = [];
  #refusal = "";
  #blocksBegun = 0;
  #hasStarted = false;

  constructor(answer: AnswerState) {
    this.#answer = answer;
  }

  read(chunk: CompatibleChunk): ProviderEvent[] {
    if (chunk.error !== null && chunk.error !== undefined) {
      return this.#answer.fail(streamErrorFailure(compatibleErrors, this.#answer.provider, chunk.error));
    }
    const started: ProviderEvent[] = this.#hasStarted ? [] : [{ type: "started", responseId: null }];
    this.#hasStarted = true;
    this.#answer.model = chunk.model || this.#answer.model;
    const choice = chunk.choices?.[0];
    const events = this.#readDelta(choice?.delta ?? {});
    const reason = choice?.finish_reason ?? "";
    return [...started, ...events, ...(reason === "" ? [] : this.#finish(reason))];
  }

  #readDelta(delta: CompatibleDelta): ProviderEvent[] {
    this.#refusal += delta.refusal ?? "";
    // Some servers send the same reasoning in both fields.
    const field = reasoningFields.find((name) => (delta[name] ?? "") !== "");
    return [
      ...(field === undefined ? [] : this.#addText("reasoning", delta[field] ?? "", field)),
      ...this.#addText("text", delta.content ?? ""),
      ...(delta.tool_calls ?? []).flatMap((piece) => this.#readCall(piece)),
    ];
  }

  #addText(kind: TextBlock["kind"], delta: string, field?: ReasoningField): ProviderEvent[] {
    if (delta === "") return [];
    const last = this.#blocks.at(-1);
    if (last?.kind === kind) {
      last.text += delta;
      return [deltaOf(last, delta)];
    }
    const ended = this.#endTexts();
    this.#blocksBegun += 1;
    const itemId = `${kind}_${this.#blocksBegun}`;
    const block: TextBlock = { kind, itemId, text: delta, ...(field !== undefined && { field }) };
    this.#blocks.push(block);
    return [...ended, deltaOf(block, delta)];
  }

  /** Adds a piece of a call. A call is shown as soon as its name is known. */
  #readCall(piece: CompatibleCallPiece): ProviderEvent[] {
    const call = this.#calls.add(piece);
    if (call.callId !== null) return callDelta(call.callId, piece.function?.arguments ?? "");
    if (call.name === "") return [];
    const ended = this.#endTexts();
    call.callId = this.#answer.callIds.next(call.wireId);
    this.#blocks.push({ kind: "call", call });
    const started: ProviderEvent = { type: "tool_call_started", callId: call.callId, name: call.name };
    return [...ended, started, ...callDelta(call.callId, call.arguments.text)];
  }

  /**
   * Ends the texts before the first open call: something else follows, so they are whole. What began after a call waits
   * for that call, because the pieces of several calls may alternate.
   */
  #endTexts(): ProviderEvent[] {
    const events: ProviderEvent[] = [];
    for (let block = this.#blocks[0]; block !== undefined && block.kind !== "call"; block = this.#blocks[0]) {
      events.push(this.#giveText(block));
      this.#blocks.shift();
    }
    return events;
  }

  #giveText({ kind, itemId, text, field }: TextBlock): ProviderEvent {
    if (kind === "text") return this.#answer.give(itemId, { type: "assistant", text });
    return this.#answer.giveReasoning(itemId, text, { field });
  }

  #finish(reason: string): ProviderEvent[] {
    const answer = this.#answer;
    answer.isUsageFinal = true;
    const stopReason = stopReasons.get(reason);
    if (stopReason === undefined) {
      const message = `${answer.provider} stopped before the end: ${reason.slice(0, 200)}`;
      return answer.fail(failure("provider_stream_cut", message));
    }
    const isCut = stopReason === "length" || stopReason === "content_filter";
    if (!isCut && this.#calls.all.some((call) => call.callId === null)) {
      return answer.fail(failure("provider_answer_invalid", `${answer.provider} sent a tool call without a name`));
    }
    const events = this.#blocks.splice(0).flatMap((block) => this.#giveLast(block, isCut));
    if (this.#refusal !== "") return [...events, ...answer.fail(refused(inItsWords(answer.provider, this.#refusal)))];
    if (stopReason === "content_filter" && !answer.has("assistant")) {
      return [...events, ...answer.fail(refused(`the content filter of ${answer.provider} stopped the answer`))];
    }
    // Some servers send `stop` after calls, others `tool_calls` without any.
    answer.finish(isCut ? stopReason : answer.has("tool_call") ? "tool_calls" : "stop");
    return events;
  }

  /** Gives a block at the end of the answer. A call that was cut off is not given, because it cannot be run (T8). */
  #giveLast(block: AnswerBlock, isCut: boolean): ProviderEvent[] {
    if (block.kind !== "call") return [this.#giveText(block)];
    const { callId, name, arguments: pieces } = block.call;
    if (callId === null || (isCut && !pieces.isWhole)) return [];
    // An empty text means no arguments, which our history writes as JSON.
    const missing = pieces.text === "" ? "{}" : "";
    const args = pieces.text + missing;
    const item = { type: "tool_call" as const, callId, name, arguments: args };
    return [...callDelta(callId, missing), this.#answer.give(callId, item)];
  }
}

function refused(message: string): Failure {
  return failure("provider_refused_content", message);
}

function deltaOf({ kind, itemId }: TextBlock, delta: string): ProviderEvent {
  return { type: kind === "text" ? "text_delta" : "reasoning_delta", itemId, delta };
}

function callDelta(callId: string, delta: string): ProviderEvent[] {
  return delta === "" ? [] : [{ type: "tool_call_delta", callId, delta }];
}

function readUsage(usage: CompatibleUsage): Usage {
  const output = usage.completion_tokens ?? 0;
  return {
    input: usage.prompt_tokens,
    output,
    cached: usage.prompt_tokens_details?.cached_tokens ?? 0,
    reasoning: usage.completion_tokens_details?.reasoning_tokens ?? 0,
    total: usage.total_tokens ?? usage.prompt_tokens + output,
  };
}
