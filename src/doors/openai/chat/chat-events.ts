/** Turns the events of a turn into a chat completion, whole or in chunks (O1). */
import type { TurnEvent } from "../../../domain/events.ts";
import type { Usage } from "../../../domain/usage.ts";

export interface ChatCall {
  id: string;
  type: "function";
  function: { name: string; arguments: string };
}

export interface ChatAnswer {
  content: string;
  calls: ChatCall[];
  finish: "stop" | "length" | "tool_calls" | "content_filter";
  usage: Usage;
}

/** One change of the answer, as a chunk has it. */
export type ChatDelta =
  | { content: string }
  | { tool_calls: { index: number; id?: string; type?: "function"; function: { name?: string; arguments: string } }[] };

export class ChatEvents {
  readonly #isClients: (name: string) => boolean;
  /** The places of the calls by their ids. */
  readonly #calls = new Map<string, number>();
  readonly answer: ChatAnswer = {
    content: "",
    calls: [],
    finish: "stop",
    usage: { input: 0, output: 0, cached: 0, reasoning: 0, total: 0 },
  };

  constructor(isClients: (name: string) => boolean) {
    this.#isClients = isClients;
  }

  /** Adds what an event says to the answer, and returns the change. Null: the client sees none. */
  push(event: TurnEvent): ChatDelta | null {
    switch (event.type) {
      // Several messages of one answer are one message here, with a blank line between them, as in a history.
      case "text_started":
        return this.answer.content === "" ? null : this.#text("\n\n");
      case "text_delta":
        return this.#text(event.delta);
      case "tool_call_started":
        return this.#isClients(event.name) ? this.#call(event.callId, event.name) : null;
      case "tool_call_delta":
        return this.#arguments(event.callId, event.delta);
      case "run_finished":
        this.answer.finish = finishOf(event.stopReason, this.answer.calls.length);
        this.answer.usage = event.usage;
        return null;
      default:
        return null;
    }
  }

  #text(content: string): ChatDelta {
    this.answer.content += content;
    return { content };
  }

  #call(id: string, name: string): ChatDelta {
    const index = this.answer.calls.push({ id, type: "function", function: { name, arguments: "" } }) - 1;
    this.#calls.set(id, index);
    return { tool_calls: [{ index, id, type: "function", function: { name, arguments: "" } }] };
  }

  #arguments(callId: string, delta: string): ChatDelta | null {
    const index = this.#calls.get(callId);
    const call = index === undefined ? undefined : this.answer.calls[index];
    if (index === undefined || call === undefined) return null;
    call.function.arguments += delta;
    return { tool_calls: [{ index, function: { arguments: delta } }] };
  }
}

function finishOf(
  stop: Extract<TurnEvent, { type: "run_finished" }>["stopReason"],
  calls: number,
): ChatAnswer["finish"] {
  switch (stop) {
    case "stop":
    case "interrupted":
      return "stop";
    case "tool_calls":
      return calls > 0 ? "tool_calls" : "stop";
    case "content_filter":
      return "content_filter";
    case "length":
    case "step_limit":
      return "length";
  }
}

export function chatUsage({ input, output, cached, reasoning, total }: Usage) {
  return {
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: total,
    prompt_tokens_details: { cached_tokens: cached, audio_tokens: 0 },
    completion_tokens_details: { reasoning_tokens: reasoning, audio_tokens: 0 },
  };
}
