/**
 * Turns the stream of one message into our events. It keeps what the stream has sent so far and nothing else. The
 * blocks of a message come one after the other, so at most one is open.
 */
import { failure } from "../../domain/errors.ts";
import type { Usage } from "../../domain/usage.ts";
import type { AnswerWire, PartReader } from "../answer-reader.ts";
import type { AnswerState } from "../answer-state.ts";
import { inItsWords, streamErrorFailure } from "../http-failures.ts";
import type { ProviderEvent } from "../provider.ts";
import { anthropicErrors } from "./failures.ts";
import {
  type AnthropicBlock,
  type AnthropicDelta,
  type AnthropicEvent,
  type AnthropicUsage,
  parseAnthropicEvent,
} from "./wire.ts";

type OpenBlock =
  | { kind: "text"; itemId: string; text: string }
  | { kind: "thinking"; itemId: string; text: string; signature: string; block: Record<string, unknown> }
  | { kind: "call"; callId: string; name: string; written: string; input: unknown }
  | { kind: "other" };
type Of<Kind> = Extract<OpenBlock, { kind: Kind }>;

/** Tokens as the wire counts them: the input is without what was written to the cache and what was read from it. */
interface AnthropicTokens {
  input: number;
  written: number;
  read: number;
  output: number;
  thinking: number;
}

type MessageStart = Extract<AnthropicEvent, { type: "message_start" }>["message"];
type MessageDelta = Extract<AnthropicEvent, { type: "message_delta" }>;

export const anthropicAnswers: AnswerWire<AnthropicEvent> = {
  parse: parseAnthropicEvent,
  newReader: (answer) => new AnthropicStreamReader(answer),
};

class AnthropicStreamReader implements PartReader<AnthropicEvent> {
  readonly #answer: AnswerState;
  #tokens: AnthropicTokens = { input: 0, written: 0, read: 0, output: 0, thinking: 0 };
  /** The block that is being given, with its index in the message. */
  #open: { index: number; block: OpenBlock } | null = null;
  /** A call whose block has ended. What follows shows whether it was cut there. */
  #heldCall: Of<"call"> | null = null;
  #stopReason: string | null = null;
  #refusal: string | null = null;

  constructor(answer: AnswerState) {
    this.#answer = answer;
  }

  read(event: AnthropicEvent): ProviderEvent[] {
    switch (event.type) {
      case "message_start":
        return this.#start(event.message);
      case "content_block_start":
        return [...this.#close(), ...this.#begin(event.index, event.content_block)];
      case "content_block_delta":
        return this.#add(event.index, event.delta);
      case "content_block_stop":
        return this.#open?.index === event.index ? this.#endBlock() : [];
      case "message_delta":
        return this.#note(event);
      case "message_stop":
        return this.#finish();
      case "error":
        return this.#answer.fail(streamErrorFailure(anthropicErrors, this.#answer.provider, event.error));
    }
  }

  #start({ id, model, usage }: MessageStart): ProviderEvent[] {
    this.#answer.responseId = id;
    this.#answer.model = model;
    this.#count(usage);
    return [{ type: "started", responseId: id }];
  }

  #begin(index: number, given: AnthropicBlock): ProviderEvent[] {
    const itemId = `${this.#answer.responseId ?? "msg"}_${index}`;
    switch (given.type) {
      case "text":
        this.#open = { index, block: { kind: "text", itemId, text: "" } };
        return this.#add(index, { type: "text_delta", text: given.text });
      case "thinking": {
        const block = { kind: "thinking" as const, itemId, text: "", signature: given.signature ?? "", block: given };
        this.#open = { index, block };
        return this.#add(index, { type: "thinking_delta", thinking: given.thinking });
      }
      case "redacted_thinking":
        this.#open = { index, block: { kind: "other" } };
        return [this.#answer.giveReasoning(itemId, "", given)];
      case "tool_use": {
        const callId = this.#answer.callIds.next(given.id);
        this.#open = { index, block: { kind: "call", callId, name: given.name, written: "", input: given.input } };
        return [{ type: "tool_call_started", callId, name: given.name }];
      }
      case "other":
        this.#open = { index, block: { kind: "other" } };
        return [];
    }
  }

  #add(index: number, delta: AnthropicDelta): ProviderEvent[] {
    const open = this.#open?.index === index ? this.#open.block : null;
    switch (delta.type) {
      case "text_delta":
        return open?.kind === "text" ? this.#addText(open, delta.text) : this.#strayed(open);
      case "thinking_delta":
        return open?.kind === "thinking" ? this.#addThinking(open, delta.thinking) : this.#strayed(open);
      case "input_json_delta":
        return open?.kind === "call" ? this.#addInput(open, delta.partial_json) : this.#strayed(open);
      case "signature_delta":
        if (open?.kind !== "thinking") return this.#strayed(open);
        open.signature += delta.signature;
        return [];
      case "other":
        return [];
    }
  }

  /** Blocks that we never request may come with deltas of any kind. */
  #strayed(open: OpenBlock | null): ProviderEvent[] {
    if (open?.kind === "other") return [];
    return this.#answer.fail(
      failure("provider_answer_invalid", `${this.#answer.provider} sent a delta that belongs to no block`),
    );
  }

  #addText(block: Of<"text">, delta: string): ProviderEvent[] {
    if (delta === "") return [];
    block.text += delta;
    return [{ type: "text_delta", itemId: block.itemId, delta }];
  }

  #addThinking(block: Of<"thinking">, delta: string): ProviderEvent[] {
    if (delta === "") return [];
    block.text += delta;
    return [{ type: "reasoning_delta", itemId: block.itemId, delta }];
  }

  #addInput(block: Of<"call">, delta: string): ProviderEvent[] {
    if (delta === "") return [];
    block.written += delta;
    return [{ type: "tool_call_delta", callId: block.callId, delta }];
  }

  /** Ends what is open. It was whole, because something came after it. */
  #close(): ProviderEvent[] {
    return [...this.#endBlock(), ...this.#giveCall()];
  }

  #endBlock(): ProviderEvent[] {
    const block = this.#open?.block;
    this.#open = null;
    switch (block?.kind) {
      case "text":
        if (block.text === "") return [];
        return [this.#answer.give(block.itemId, { type: "assistant", text: block.text })];
      case "thinking": {
        const { itemId, text, signature } = block;
        // The API takes no thinking back without its signature.
        const opaque = signature === "" ? undefined : { ...block.block, thinking: text, signature };
        return [this.#answer.giveReasoning(itemId, text, opaque)];
      }
      case "call":
        this.#heldCall = block;
        return [];
      default:
        return [];
    }
  }

  #giveCall(): ProviderEvent[] {
    const call = this.#heldCall;
    if (call === null) return [];
    this.#heldCall = null;
    const { callId, name, input } = call;
    // A call without arguments has no deltas. Other servers put all arguments into the beginning of the block.
    const rest = call.written === "" ? this.#addInput(call, JSON.stringify(input ?? {})) : [];
    const item = { type: "tool_call" as const, callId, name, arguments: call.written };
    return [...rest, this.#answer.give(callId, item)];
  }

  #note({ delta, usage }: MessageDelta): ProviderEvent[] {
    this.#count(usage);
    this.#answer.isUsageFinal = usage?.output_tokens !== undefined;
    this.#stopReason = delta.stop_reason ?? this.#stopReason;
    this.#refusal = delta.stop_details?.explanation ?? this.#refusal;
    return [];
  }

  #finish(): ProviderEvent[] {
    switch (this.#stopReason) {
      case "end_turn":
      case "stop_sequence":
      case "tool_use": {
        const rest = this.#close();
        this.#answer.finish(this.#answer.has("tool_call") ? "tool_calls" : "stop");
        return rest;
      }
      case "max_tokens":
        return this.#endCut();
      case "model_context_window_exceeded": {
        const rest = this.#endBlock();
        const hasOutput = this.#answer.has("assistant") || this.#answer.has("tool_call");
        if (hasOutput) return [...rest, ...this.#endCut()];
        const reason = failure("context_window_exceeded", "the model's window was full before it had answered");
        return [...rest, ...this.#answer.fail(reason)];
      }
      case "refusal":
        return this.#answer.fail(failure("provider_refused_content", this.#refusalMessage()));
      default:
        return this.#answer.fail(
          failure(
            "provider_stream_cut",
            `${this.#answer.provider} stopped before the end: ${this.#stopReason ?? "no reason given"}`,
          ),
        );
    }
  }

  #refusalMessage(): string {
    const { provider } = this.#answer;
    return this.#refusal === null ? `${provider} refused to answer` : inItsWords(provider, this.#refusal);
  }

  /** Ends a cut answer. A call that was being written is not given, because half a call cannot be run. */
  #endCut(): ProviderEvent[] {
    const rest = this.#endBlock();
    this.#heldCall = null;
    this.#answer.finish("length");
    return rest;
  }

  /** Later counts in the stream include the earlier ones, and may leave out what has not changed. */
  #count(usage: AnthropicUsage | null | undefined): void {
    const before = this.#tokens;
    this.#tokens = {
      input: usage?.input_tokens ?? before.input,
      written: usage?.cache_creation_input_tokens ?? before.written,
      read: usage?.cache_read_input_tokens ?? before.read,
      output: usage?.output_tokens ?? before.output,
      thinking: usage?.output_tokens_details?.thinking_tokens ?? before.thinking,
    };
    this.#answer.usage = usageOf(this.#tokens);
  }
}

function usageOf({ input, written, read, output, thinking }: AnthropicTokens): Usage {
  const whole = input + written + read;
  const reported = { input: whole, output, cached: read, reasoning: thinking, total: whole + output };
  return written > 0 ? { ...reported, written } : reported;
}
