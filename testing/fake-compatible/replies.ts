/** What the fake can be told to answer, in the manners of several servers. */
import { Refusal } from "../fake-openai/refusal.ts";
import { type FakeRaw, type FakeSilence, refusedWith, type StreamPlan } from "../fake-server/deliver.ts";

export type FakeOutput =
  | { type: "text"; text: string }
  | { type: "reasoning"; text: string; field?: "reasoning_content" | "reasoning" }
  /** `id: null`: the server gives none. */
  | { type: "call"; name: string; arguments: string; id?: string | null };

export interface FakeAnswer extends StreamPlan {
  output: FakeOutput[];
  /** `stop` or `tool_calls`, if absent; null: none is sent. */
  finishReason?: string | null;
  /** Counted from the texts, if absent; null: none is sent. */
  usage?: Record<string, unknown> | null;
  /** Takes the place of everything after the output. */
  error?: unknown;
  /**
   * How calls are sent. `pieces`: one after the other, as OpenAI does. `mixed`: a piece of each in turn. `whole`:
   * each in one chunk. `together`: all in one chunk. `repeated`: as pieces, each with id and name.
   */
  calls?: "pieces" | "mixed" | "whole" | "together" | "repeated";
  /** `zero`: every call is number 0. `none`: there are no numbers. */
  numbers?: "each" | "zero" | "none";
  /** False: the stream ends without `[DONE]`. */
  isDone?: boolean;
}

/** A text is the short form of an answer with one text. */
export type FakeReply = string | FakeAnswer | FakeRaw | FakeSilence;

/** As Ollama says it. */
export function modelMissing(model: string): Refusal {
  return new Refusal(`model "${model}" not found, try pulling it first`, { status: 404, type: "not_found_error" });
}

/** As llama.cpp says it. */
export function contextTooLong(): FakeRaw {
  const message = "the request exceeds the available context size, try increasing it";
  const type = "exceed_context_size_error";
  return { status: 400, body: { error: { code: 400, message, type, n_prompt_tokens: 9_000, n_ctx: 4_096 } } };
}

/** As llama.cpp says it while it starts. */
export function modelLoading(): FakeRaw {
  return { status: 503, body: { error: { message: "Loading model", type: "unavailable_error", code: 503 } } };
}

/** `retryAfter` in seconds. */
export function rateLimited(retryAfter?: string): FakeRaw {
  const refusal = new Refusal("Rate limit reached.", { status: 429, type: "requests", code: "rate_limit_exceeded" });
  return refusedWith(refusal, retryAfter === undefined ? {} : { "retry-after": retryAfter });
}
