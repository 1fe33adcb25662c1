/** The answers that a test can script, in the styles of several servers. */
import { Refusal } from "../fake-openai/refusal.ts";
import { type FakeRaw, type FakeSilence, refusedWith, type StreamPlan } from "../fake-server/deliver.ts";

export type FakeOutput =
  | { type: "text"; text: string }
  | { type: "reasoning"; text: string; field?: "reasoning_content" | "reasoning" }
  /** `id: null`: the server sends no id. */
  | { type: "call"; name: string; arguments: string; id?: string | null };

export interface FakeAnswer extends StreamPlan {
  output: FakeOutput[];
  /** The default is `stop` or `tool_calls`. Null: none is sent. */
  finishReason?: string | null;
  /** The default is counted from the texts. Null: none is sent. */
  usage?: Record<string, unknown> | null;
  /** An error that replaces everything after the output. */
  error?: unknown;
  /**
   * How calls are sent. `pieces`: one after the other, like OpenAI. `mixed`: a piece of each in turn. `whole`:
   * each in one chunk. `together`: all in one chunk. `repeated`: in pieces that all have the id and the name.
   */
  calls?: "pieces" | "mixed" | "whole" | "together" | "repeated";
  /** The indexes of calls. `zero`: every call has the index 0. `none`: calls have no index. */
  numbers?: "each" | "zero" | "none";
  /** False if the stream ends without `[DONE]`. */
  isDone?: boolean;
}

/** A text is the short form of an answer with one text. */
export type FakeReply = string | FakeAnswer | FakeRaw | FakeSilence;

/** Ollama's error for an unknown model. */
export function modelMissing(model: string): Refusal {
  return new Refusal(`model "${model}" not found, try pulling it first`, { status: 404, type: "not_found_error" });
}

/** The error of llama.cpp for a context that is too long. */
export function contextTooLong(): FakeRaw {
  const message = "the request exceeds the available context size, try increasing it";
  const type = "exceed_context_size_error";
  return { status: 400, body: { error: { code: 400, message, type, n_prompt_tokens: 9_000, n_ctx: 4_096 } } };
}

/** The error of llama.cpp during its start. */
export function modelLoading(): FakeRaw {
  return { status: 503, body: { error: { message: "Loading model", type: "unavailable_error", code: 503 } } };
}

/** `retryAfter`: seconds. */
export function rateLimited(retryAfter?: string): FakeRaw {
  const refusal = new Refusal("Rate limit reached.", { status: 429, type: "requests", code: "rate_limit_exceeded" });
  return refusedWith(refusal, retryAfter === undefined ? {} : { "retry-after": retryAfter });
}
