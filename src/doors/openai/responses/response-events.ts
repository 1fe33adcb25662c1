/**
 * Turns the events of a turn into those of a response (O1). It depends on the events alone, so the same turn gives the same
 * events and sequence numbers at any time: a client resumes by them for ever. The answer in one piece is the last event's.
 */
import type { GatheredContext, TurnEvent } from "../../../domain/events.ts";
import type { Failure } from "../../../domain/errors.ts";
import type { Usage } from "../../../domain/usage.ts";
import { itemId, type ItemKind } from "../wire-ids.ts";
import { responseError } from "../wire-error.ts";
import { outputText, type ContextItem, type FunctionCallOutput, type OutputItem } from "./output-items.ts";
import type { ResponseFrame } from "./response-frame.ts";
import { responseUsage } from "./usage.ts";

export type ResponseStatus = "queued" | "in_progress" | "completed" | "incomplete" | "failed" | "cancelled";

export type WireResponse = ResponseFrame & {
  status: ResponseStatus;
  completed_at: number | null;
  output: OutputItem[];
  error: { code: string; message: string } | null;
  incomplete_details: { reason: "max_output_tokens" | "content_filter" } | null;
  usage: ReturnType<typeof responseUsage> | null;
};

export interface WireEvent {
  type: string;
  sequence_number: number;
  [field: string]: unknown;
}

export interface ResponseEventsOptions {
  frame: ResponseFrame;
  turnId: string;
  /** True for a tool that the client runs. */
  isClients(name: string): boolean;
}

/** How a response ended. */
interface End {
  status: Exclude<ResponseStatus, "queued" | "in_progress">;
  incomplete?: "max_output_tokens" | "content_filter";
  failure?: Failure;
  usage: Usage;
}

export class ResponseEvents {
  readonly #options: ResponseEventsOptions;
  readonly #response: WireResponse;
  readonly #made: WireEvent[] = [];
  readonly #open = new Map<string, { item: OutputItem; index: number }>();
  readonly #numbers = new Map<ItemKind, number>();
  #next = 0;
  /** An item whose end waits for the next event: the last one of a response that was cut is incomplete. */
  #ending: { item: OutputItem; index: number } | null = null;

  constructor(options: ResponseEventsOptions) {
    this.#options = options;
    const unfinished = { error: null, incomplete_details: null, usage: null, completed_at: null };
    this.#response = { ...options.frame, status: "in_progress", output: [], ...unfinished };
  }

  /** The response as far as it has come. */
  get response(): WireResponse {
    return this.#response;
  }

  /** Returns the events that follow from one of the turn. `endedAt` is the time of a terminal event, in seconds. */
  push(event: TurnEvent, endedAt: () => number): WireEvent[] {
    switch (event.type) {
      case "run_started":
        this.#emit("response.created", { response: this.#snapshot() });
        this.#emit("response.in_progress", { response: this.#snapshot() });
        break;
      case "context":
        this.#context(event.context);
        break;
      case "run_finished":
        this.#finish({ ...endOf(event.stopReason), usage: event.usage }, endedAt());
        break;
      case "run_failed":
        this.#finish(failedEnd(event.failure, event.usage), endedAt());
        break;
      default:
        this.#item(event);
    }
    return this.#made.splice(0);
  }

  #item(event: Exclude<TurnEvent, { type: "run_started" | "context" | "run_finished" | "run_failed" }>): void {
    switch (event.type) {
      case "text_started":
        return this.#begin(event.messageId, this.#message());
      case "text_delta":
        return this.#textDelta(event.messageId, event.delta);
      case "reasoning_started":
        return this.#begin(event.messageId, this.#reasoning());
      case "reasoning_delta":
        return this.#reasoningDelta(event.messageId, event.delta);
      case "text_ended":
      case "reasoning_ended":
        return this.#end(event.messageId);
      case "tool_call_started":
        return this.#begin(event.callId, this.#call(event));
      case "tool_call_delta":
        return this.#callDelta(event.callId, event.delta);
      case "tool_call_ended":
        return this.#callEnded(event.callId);
      case "tool_result":
        return this.#result(event);
      // The rest is the server's own matter.
      case "warning":
      case "step_started":
      case "step_finished":
      case "tool_call_view":
      case "approval_answered":
      case "tool_output_delta":
      case "steered":
      case "subagent_started":
      case "subagent_ended":
    }
  }

  #emit(type: string, fields: Record<string, unknown>): void {
    this.#made.push({ type, sequence_number: this.#next, ...fields });
    this.#next += 1;
  }

  #snapshot(): WireResponse {
    return { ...this.#response, output: structuredClone(this.#response.output) };
  }

  #number(kind: ItemKind): string {
    const number = this.#numbers.get(kind) ?? 0;
    this.#numbers.set(kind, number + 1);
    return itemId(kind, this.#options.turnId, number);
  }

  #message(): OutputItem {
    return { type: "message", id: this.#number("message"), status: "in_progress", role: "assistant", content: [] };
  }

  #reasoning(): OutputItem {
    return { type: "reasoning", id: this.#number("reasoning"), status: "in_progress", summary: [] };
  }

  #call({ callId, name }: Extract<TurnEvent, { type: "tool_call_started" }>): OutputItem {
    const call = { status: "in_progress", call_id: callId, name, arguments: "" } as const;
    if (this.#options.isClients(name)) return { type: "function_call", id: this.#number("call"), ...call };
    return { type: "aptove:tool_call", id: this.#number("own"), ...call, output: null };
  }

  #begin(key: string, item: OutputItem): void {
    this.#close("completed");
    const index = this.#response.output.push(item) - 1;
    this.#open.set(key, { item, index });
    this.#emit("response.output_item.added", { output_index: index, item: structuredClone(item) });
    if (item.type === "message") {
      item.content.push(outputText());
      this.#emit("response.content_part.added", { ...place(item, index), content_index: 0, part: outputText() });
    }
    if (item.type === "reasoning") {
      item.summary.push({ type: "summary_text", text: "" });
      const part = { type: "summary_text", text: "" };
      this.#emit("response.reasoning_summary_part.added", { ...place(item, index), summary_index: 0, part });
    }
  }

  #textDelta(key: string, delta: string): void {
    const open = this.#open.get(key);
    const [part] = open?.item.type === "message" ? open.item.content : [];
    if (open === undefined || part === undefined) return;
    part.text += delta;
    const at = { ...place(open.item, open.index), content_index: 0 };
    this.#emit("response.output_text.delta", { ...at, delta, logprobs: [] });
  }

  #reasoningDelta(key: string, delta: string): void {
    const open = this.#open.get(key);
    const [part] = open?.item.type === "reasoning" ? open.item.summary : [];
    if (open === undefined || part === undefined) return;
    part.text += delta;
    this.#emit("response.reasoning_summary_text.delta", { ...place(open.item, open.index), summary_index: 0, delta });
  }

  #callDelta(key: string, delta: string): void {
    const open = this.#open.get(key);
    if (open === undefined || !("arguments" in open.item)) return;
    open.item.arguments += delta;
    if (open.item.type !== "function_call") return;
    this.#emit("response.function_call_arguments.delta", { ...place(open.item, open.index), delta });
  }

  /** A call of our own tool stays open until it has its result. */
  #callEnded(key: string): void {
    if (this.#open.get(key)?.item.type === "function_call") this.#end(key);
  }

  #result({ callId, output }: Extract<TurnEvent, { type: "tool_result" }>): void {
    const open = this.#open.get(callId);
    if (open?.item.type !== "aptove:tool_call") return;
    open.item.output = output;
    this.#end(callId);
    this.#close("completed");
  }

  #end(key: string): void {
    const open = this.#open.get(key);
    if (open === undefined) return;
    this.#close("completed");
    this.#open.delete(key);
    this.#ending = open;
  }

  /** Sends the end of the item that waits for it. */
  #close(status: "completed" | "incomplete"): void {
    const ending = this.#ending;
    this.#ending = null;
    if (ending === null) return;
    const { item, index } = ending;
    const at = place(item, index);
    item.status = status;
    if (item.type === "message") this.#partDone(item.content[0]?.text ?? "", at);
    if (item.type === "reasoning") this.#summaryDone(item.summary[0]?.text ?? "", at);
    if (item.type === "function_call") this.#argumentsDone(item, at);
    this.#emit("response.output_item.done", { output_index: index, item: structuredClone(item) });
  }

  #partDone(text: string, at: Place): void {
    this.#emit("response.output_text.done", { ...at, content_index: 0, text, logprobs: [] });
    this.#emit("response.content_part.done", { ...at, content_index: 0, part: outputText(text) });
  }

  #summaryDone(text: string, at: Place): void {
    this.#emit("response.reasoning_summary_text.done", { ...at, summary_index: 0, text });
    const part = { type: "summary_text", text };
    this.#emit("response.reasoning_summary_part.done", { ...at, summary_index: 0, part });
  }

  #argumentsDone({ name, arguments: args }: FunctionCallOutput, at: Place): void {
    this.#emit("response.function_call_arguments.done", { ...at, name, arguments: args });
  }

  #context(given: GatheredContext): void {
    const item = contextItem(given, () => this.#number("context"));
    if (item === null) return;
    const index = this.#response.output.push(item) - 1;
    this.#emit("response.output_item.added", { output_index: index, item: { ...item, status: "in_progress" } });
    this.#emit("response.output_item.done", { output_index: index, item });
  }

  #finish({ status, incomplete, failure, usage }: End, endedAt: number): void {
    const wasCut = status !== "completed";
    const [left] = this.#open.values();
    if (left !== undefined) {
      this.#close("completed");
      this.#ending = left;
    }
    this.#open.clear();
    this.#close(wasCut ? "incomplete" : "completed");
    Object.assign(this.#response, {
      status,
      completed_at: status === "completed" ? endedAt : null,
      error: failure === undefined ? null : responseError(failure),
      incomplete_details: incomplete === undefined ? null : { reason: incomplete },
      usage: responseUsage(usage),
    } satisfies Partial<WireResponse>);
    const name = status === "cancelled" ? "incomplete" : status;
    this.#emit(`response.${name}`, { response: this.#snapshot() });
  }
}

type Place = ReturnType<typeof place>;

function place({ id }: OutputItem, index: number) {
  return { item_id: id, output_index: index };
}

function endOf(stop: Extract<TurnEvent, { type: "run_finished" }>["stopReason"]): Pick<End, "status" | "incomplete"> {
  switch (stop) {
    case "stop":
    case "tool_calls":
      return { status: "completed" };
    case "interrupted":
      return { status: "cancelled" };
    case "content_filter":
      return { status: "incomplete", incomplete: "content_filter" };
    case "length":
    case "step_limit":
      return { status: "incomplete", incomplete: "max_output_tokens" };
  }
}

function failedEnd(failure: Failure, usage: Usage): End {
  return failure.code === "interrupted" ? { status: "cancelled", usage } : { status: "failed", failure, usage };
}

/** Null if nothing was given beside the conversation. */
function contextItem({ chunks, files, rules = [] }: GatheredContext, id: () => string): ContextItem | null {
  if (chunks.length === 0 && files.length === 0 && rules.length === 0) return null;
  return {
    type: "aptove:context",
    id: id(),
    status: "completed",
    chunks: chunks.map(({ path, startLine, endLine, wasSent: sent }) => {
      return { path, start_line: startLine, end_line: endLine, sent };
    }),
    files: files.map(({ path, wasSent: sent, wasTooLarge }) => {
      return {
        path,
        sent,
        reason: wasTooLarge ? ("too_large" as const) : sent ? ("new" as const) : ("known" as const),
      };
    }),
    rules: [...rules],
  };
}
