/** Turns an answer into the stream events of the Responses API, in OpenAI's order and with OpenAI's types. */
import { wordPieces } from "../fake-server/deliver.ts";
import type {
  Response,
  ResponseCreateParams,
  ResponseOutputItem,
  ResponseStreamEvent,
  ResponseUsage,
} from "openai/resources/responses/responses";
import type { FakeAnswer, FakeEnding, FakeOutput } from "./replies.ts";
import { encryptedFor } from "./response-memory.ts";

/** A response on the wire. OpenAI's client library adds `output_text`. */
export type WireResponse = Omit<Response, "output_text">;
type ResponseEventType = "response.created" | "response.in_progress" | EndingType;
type EndingType = "response.completed" | "response.incomplete" | "response.failed";
type ItemEvent = Exclude<ResponseStreamEvent, { response: Response }>;

/** An event that gets its `sequence_number` when it is sent. */
export type FakeEvent = Unnumbered<ItemEvent> | { type: ResponseEventType; response: WireResponse };
type Unnumbered<Event> = Event extends unknown ? Omit<Event, "sequence_number"> : never;

export interface AnswerFrame {
  id: string;
  /** Makes ids of items and calls that are unique and the same in every run. */
  newId: (prefix: string) => string;
  body: ResponseCreateParams;
  inputTokens: number;
  cachedTokens: number;
}

export interface StreamedAnswer {
  events: FakeEvent[];
  /** The response that a later request may continue. */
  response: WireResponse;
}

export function streamAnswer(
  { output, ending = { status: "completed" } }: FakeAnswer,
  frame: AnswerFrame,
): StreamedAnswer {
  const started = emptyResponse(frame);
  const items = output.map((part) => outputItem(part, frame));
  const status = ending.status === "error" ? "failed" : ending.status;
  const response: WireResponse = {
    ...started,
    ...(ending.status === "incomplete" && { incomplete_details: { reason: ending.reason } }),
    ...(status === "failed" && { error: responseError(ending) }),
    status,
    output: items,
    usage: usageOf(items, frame),
  };
  const events: FakeEvent[] = [
    { type: "response.created", response: started },
    { type: "response.in_progress", response: started },
    ...items.flatMap((item, index) => itemEvents(item, index, ending)),
    lastEvent(ending, response),
  ];
  return { events, response };
}

function lastEvent(ending: FakeEnding, response: WireResponse): FakeEvent {
  if (ending.status === "error") return { type: "error", code: ending.code, message: ending.message, param: null };
  return { type: `response.${ending.status}`, response };
}

function responseError(ending: FakeEnding): WireResponse["error"] {
  if (ending.status !== "failed") return null;
  // A test may use codes that this version of the types lacks.
  return { code: ending.code as NonNullable<Response["error"]>["code"], message: ending.message };
}

function emptyResponse({ id, body }: AnswerFrame): WireResponse {
  return {
    id,
    object: "response",
    created_at: 1_767_225_600,
    status: "in_progress",
    access_programs: null,
    error: null,
    incomplete_details: null,
    instructions: body.instructions ?? null,
    max_output_tokens: body.max_output_tokens ?? null,
    metadata: body.metadata ?? {},
    model: body.model ?? "",
    output: [],
    parallel_tool_calls: body.parallel_tool_calls ?? true,
    previous_response_id: body.previous_response_id ?? null,
    temperature: body.temperature ?? 1,
    tool_choice: body.tool_choice ?? "auto",
    tools: body.tools ?? [],
    top_p: body.top_p ?? 1,
  };
}

function outputItem(part: FakeOutput, { newId, body }: AnswerFrame): ResponseOutputItem {
  switch (part.type) {
    case "message": {
      const content = [{ type: "output_text" as const, text: part.text, annotations: [] }];
      const id = newId("msg");
      const phase = part.phase === undefined ? {} : { phase: part.phase };
      return { type: "message", id, role: "assistant", status: "completed", content, ...phase };
    }
    case "refusal": {
      const content = [{ type: "refusal" as const, refusal: part.text }];
      return { type: "message", id: newId("msg"), role: "assistant", status: "completed", content };
    }
    case "reasoning": {
      const id = newId("rs");
      const summary = part.summary.map((text) => ({ type: "summary_text" as const, text }));
      const isAskedFor = body.include?.includes("reasoning.encrypted_content") === true;
      const cipher = isAskedFor ? { encrypted_content: encryptedFor(String(body.model), id) } : {};
      return { type: "reasoning", id, summary, ...cipher };
    }
    case "function_call": {
      const call_id = part.callId ?? newId("call");
      return {
        type: "function_call",
        id: newId("fc"),
        call_id,
        name: part.name,
        arguments: part.arguments,
        status: "completed",
      };
    }
  }
}

/** Marks the last item as incomplete: an answer that is cut by its length ends in the middle of it. */
function itemEvents(item: ResponseOutputItem, index: number, ending: FakeEnding): FakeEvent[] {
  const place = { item_id: "id" in item && typeof item.id === "string" ? item.id : "", output_index: index };
  const isCut = ending.status === "incomplete";
  const done: FakeEvent = {
    type: "response.output_item.done",
    output_index: index,
    item: isCut ? cutShort(item) : item,
  };
  switch (item.type) {
    case "message":
      return [added(index, { ...item, status: "in_progress", content: [] }), ...messageEvents(item, place), done];
    case "reasoning":
      // The ciphertext of an item that was only added differs from the final one.
      return [
        added(index, { ...item, summary: [], encrypted_content: "partial" }),
        ...summaryEvents(item, place),
        done,
      ];
    case "function_call":
      return [added(index, { ...item, status: "in_progress", arguments: "" }), ...argumentEvents(item, place), done];
    default:
      return [];
  }
}

function cutShort(item: ResponseOutputItem): ResponseOutputItem {
  return item.type === "message" || item.type === "function_call" ? { ...item, status: "incomplete" } : item;
}

function added(index: number, item: ResponseOutputItem): FakeEvent {
  return { type: "response.output_item.added", output_index: index, item };
}

type ItemOf<Type> = Extract<ResponseOutputItem, { type: Type }>;
interface Place {
  item_id: string;
  output_index: number;
}

function messageEvents(item: ItemOf<"message">, place: Place): FakeEvent[] {
  return item.content.flatMap((part, content_index): FakeEvent[] => {
    const at = { ...place, content_index };
    if (part.type === "refusal") {
      return [
        { type: "response.content_part.added", ...at, part: { ...part, refusal: "" } },
        ...wordPieces(part.refusal).map((delta): FakeEvent => ({ type: "response.refusal.delta", ...at, delta })),
        { type: "response.refusal.done", ...at, refusal: part.refusal },
        { type: "response.content_part.done", ...at, part },
      ];
    }
    const delta = (piece: string): FakeEvent => ({
      type: "response.output_text.delta",
      ...at,
      delta: piece,
      logprobs: [],
    });
    return [
      { type: "response.content_part.added", ...at, part: { ...part, text: "" } },
      ...wordPieces(part.text).map(delta),
      { type: "response.output_text.done", ...at, text: part.text, logprobs: [] },
      { type: "response.content_part.done", ...at, part },
    ];
  });
}

function summaryEvents(item: ItemOf<"reasoning">, place: Place): FakeEvent[] {
  return item.summary.flatMap((part, summary_index): FakeEvent[] => {
    const at = { ...place, summary_index };
    return [
      { type: "response.reasoning_summary_part.added", ...at, part: { ...part, text: "" } },
      ...wordPieces(part.text).map((delta): FakeEvent => ({
        type: "response.reasoning_summary_text.delta",
        ...at,
        delta,
      })),
      { type: "response.reasoning_summary_text.done", ...at, text: part.text },
      { type: "response.reasoning_summary_part.done", ...at, part },
    ];
  });
}

function argumentEvents(item: ItemOf<"function_call">, place: Place): FakeEvent[] {
  const delta = (piece: string): FakeEvent => ({
    type: "response.function_call_arguments.delta",
    ...place,
    delta: piece,
  });
  return [
    ...wordPieces(item.arguments).map(delta),
    { type: "response.function_call_arguments.done", ...place, arguments: item.arguments },
  ];
}

/** Word by word, as a model would. */
/** Estimates the number of tokens: about four characters are one token. */
export function tokensOf(value: unknown): number {
  return Math.ceil(JSON.stringify(value).length / 4);
}

function usageOf(items: readonly ResponseOutputItem[], { inputTokens, cachedTokens }: AnswerFrame): ResponseUsage {
  const output = tokensOf(items);
  return {
    input_tokens: inputTokens,
    input_tokens_details: { cached_tokens: cachedTokens, cache_write_tokens: 0 },
    output_tokens: output,
    output_tokens_details: { reasoning_tokens: tokensOf(items.filter((item) => item.type === "reasoning")) },
    total_tokens: inputTokens + output,
  };
}
