/**
 * Turns the stream of one message into our events. It holds what the stream said so far and nothing else: no clock,
 * no network. The blocks of a message come one after the other, so at most one is open.
 */
import { type Failure, failure } from "../../domain/errors.ts";
import type { StopReason } from "../../domain/events.ts";
import type { Usage } from "../../domain/usage.ts";
import { CallIds } from "../call-ids.ts";
import type { AnswerReader } from "../http-call.ts";
import type { PreparedRequest, ProviderEvent } from "../provider.ts";
import { failedEvent, type TerminalEvent } from "../terminal-event.ts";
import { failureInStream, readWireError } from "./failures.ts";
import { readWireEvent, type WireBlock, type WireDelta, type WireEvent, type WireUsage } from "./wire.ts";

type OpenBlock =
  | { kind: "text"; itemId: string; text: string }
  | { kind: "thinking"; itemId: string; text: string; signature: string; block: Record<string, unknown> }
  | { kind: "call"; callId: string; name: string; written: string; input: unknown }
  | { kind: "other" };
type Of<Kind> = Extract<OpenBlock, { kind: Kind }>;

/** As the wire counts. */
interface Counts {
  input: number;
  written: number;
  read: number;
  output: number;
  thinking: number;
}

type MessageStart = Extract<WireEvent, { type: "message_start" }>["message"];
type MessageDelta = Extract<WireEvent, { type: "message_delta" }>;

/** The requested model is kept with reasoning, for it decides who may read it later (C5). */
export class MessageReader implements AnswerReader {
  terminal: TerminalEvent | null = null;
  hasBegun = false;

  readonly #providerName: string;
  readonly #requestedModel: string;
  readonly #callIds: CallIds;
  #id: string | null = null;
  #model: string;
  #counts: Counts = { input: 0, written: 0, read: 0, output: 0, thinking: 0 };
  /** The block that is being given, with its place in the message. */
  #open: { index: number; block: OpenBlock } | null = null;
  /** A call whose block has ended: it may still turn out to have been cut there. */
  #heldCall: Of<"call"> | null = null;
  #hasCalls = false;
  #hasOutput = false;
  #stopReason: string | null = null;
  #refusal: string | null = null;

  constructor(providerName: string, request: PreparedRequest) {
    this.#providerName = providerName;
    this.#requestedModel = request.model;
    this.#model = request.model;
    this.#callIds = new CallIds(request.body);
  }

  /** Anything that cannot be understood ends the message. */
  read(data: string): ProviderEvent[] {
    if (this.terminal !== null) return [];
    try {
      const event = readWireEvent(data);
      this.hasBegun = true;
      return event === null ? [] : this.#translate(event);
    } catch (error) {
      const what = error instanceof SyntaxError ? "an event is not JSON" : "an event lacks what its type promises";
      return this.#fail(failure("provider_answer_invalid", `${what}: ${data.slice(0, 200)}`));
    }
  }

  #translate(event: WireEvent): ProviderEvent[] {
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
        return this.#fail(failureInStream(readWireError(event.error)));
    }
  }

  #start({ id, model, usage }: MessageStart): ProviderEvent[] {
    this.#id = id;
    this.#model = model;
    this.#count(usage);
    return [{ type: "started", responseId: id }];
  }

  #begin(index: number, given: WireBlock): ProviderEvent[] {
    const itemId = `${this.#id ?? "msg"}_${index}`;
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
        return [this.#reasoning(itemId, "", given)];
      case "tool_use": {
        const callId = this.#callIds.next(given.id);
        this.#open = { index, block: { kind: "call", callId, name: given.name, written: "", input: given.input } };
        return [{ type: "tool_call_started", callId, name: given.name }];
      }
      case "other":
        this.#open = { index, block: { kind: "other" } };
        return [];
    }
  }

  #add(index: number, delta: WireDelta): ProviderEvent[] {
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

  /** Blocks that we never ask for may come with deltas of any kind. */
  #strayed(open: OpenBlock | null): ProviderEvent[] {
    if (open?.kind === "other") return [];
    return this.#fail(failure("provider_answer_invalid", "a piece came that belongs to no block"));
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

  /** Whatever is open ends here, and was whole: something came after it. */
  #close(): ProviderEvent[] {
    return [...this.#endBlock(), ...this.#giveCall()];
  }

  #endBlock(): ProviderEvent[] {
    const block = this.#open?.block;
    this.#open = null;
    switch (block?.kind) {
      case "text":
        if (block.text === "") return [];
        this.#hasOutput = true;
        return [{ type: "item", itemId: block.itemId, item: { type: "assistant", text: block.text } }];
      case "thinking": {
        const { itemId, text, signature } = block;
        // Without its signature nobody takes it back.
        const opaque = signature === "" ? undefined : { ...block.block, thinking: text, signature };
        return [this.#reasoning(itemId, text, opaque)];
      }
      case "call":
        this.#heldCall = block;
        return [];
      default:
        return [];
    }
  }

  #reasoning(itemId: string, text: string, opaque: unknown): ProviderEvent {
    const own = { type: "reasoning" as const, provider: this.#providerName, model: this.#requestedModel, text };
    return { type: "item", itemId, item: { ...own, ...(opaque !== undefined && { opaque }) } };
  }

  #giveCall(): ProviderEvent[] {
    const call = this.#heldCall;
    if (call === null) return [];
    this.#heldCall = null;
    this.#hasCalls = true;
    this.#hasOutput = true;
    const { callId, name, input } = call;
    // A call without arguments has no deltas; other servers put all of them into the block's beginning.
    const rest = call.written === "" ? this.#addInput(call, JSON.stringify(input ?? {})) : [];
    const item = { type: "tool_call" as const, callId, name, arguments: call.written };
    return [...rest, { type: "item", itemId: callId, item }];
  }

  #note({ delta, usage }: MessageDelta): ProviderEvent[] {
    this.#count(usage);
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
        return [...rest, ...this.#end(this.#hasCalls ? "tool_calls" : "stop")];
      }
      case "max_tokens":
        return this.#endCut();
      case "model_context_window_exceeded": {
        const rest = this.#endBlock();
        if (this.#hasOutput) return [...rest, ...this.#endCut()];
        const reason = failure("context_window_exceeded", "the model's window was full before it had answered");
        return [...rest, ...this.#fail(reason)];
      }
      case "refusal":
        return this.#fail(failure("provider_refused_content", this.#refusal ?? "it refused to answer"));
      default:
        return this.#fail(
          failure("provider_stream_cut", `it stopped before the end: ${this.#stopReason ?? "no reason given"}`),
        );
    }
  }

  /** A call that was being written is not given: nobody can run half of it. */
  #endCut(): ProviderEvent[] {
    const rest = this.#endBlock();
    this.#heldCall = null;
    return [...rest, ...this.#end("length")];
  }

  #end(stopReason: StopReason): ProviderEvent[] {
    this.terminal = {
      type: "finished",
      stopReason,
      usage: this.#usage(),
      responseId: this.#id,
      model: this.#model,
    };
    return [];
  }

  #fail(reason: Failure): ProviderEvent[] {
    this.terminal = failedEvent(reason, { usage: this.#usage() });
    return [];
  }

  /** What comes later in the stream counts from its beginning, and may leave out what it does not count again. */
  #count(usage: WireUsage | null | undefined): void {
    const before = this.#counts;
    this.#counts = {
      input: usage?.input_tokens ?? before.input,
      written: usage?.cache_creation_input_tokens ?? before.written,
      read: usage?.cache_read_input_tokens ?? before.read,
      output: usage?.output_tokens ?? before.output,
      thinking: usage?.output_tokens_details?.thinking_tokens ?? before.thinking,
    };
  }

  /** On this wire the input is counted without what was read from the cache or written to it. */
  #usage(): Usage {
    const { input, written, read, output, thinking } = this.#counts;
    const whole = input + written + read;
    return { input: whole, output, cached: read, reasoning: thinking, total: whole + output };
  }
}
