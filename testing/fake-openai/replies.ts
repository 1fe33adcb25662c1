/** The answers that a test can script. */
import { type FakeRaw, type FakeSilence, refusedWith, type StreamPlan } from "../fake-server/deliver.ts";
import { Refusal } from "./refusal.ts";

export type FakeOutput =
  | { type: "message"; text: string; phase?: "commentary" | "final_answer" }
  | { type: "refusal"; text: string }
  | { type: "reasoning"; summary: string[] }
  | { type: "function_call"; name: string; arguments: string; callId?: string };

/** `error`: an error event in the middle of the stream, which then ends. */
export type FakeEnding =
  | { status: "completed" }
  | { status: "incomplete"; reason: "max_output_tokens" | "content_filter" }
  | { status: "failed"; code: string; message: string }
  | { status: "error"; code: string | null; message: string };

export interface FakeAnswer extends StreamPlan {
  output: FakeOutput[];
  /** The end of the answer; completed by default. */
  ending?: FakeEnding;
}

/** A text is the short form of an answer with one message. */
export type FakeReply = string | FakeAnswer | FakeRaw | FakeSilence;

/** `retryAfter`: seconds, or an HTTP date. */
export function rateLimited(retryAfter?: string): FakeRaw {
  const message = "Rate limit reached for requests. Please try again later.";
  const refusal = new Refusal(message, { status: 429, type: "requests", code: "rate_limit_exceeded" });
  return refusedWith(refusal, retryAfter === undefined ? {} : { "retry-after": retryAfter });
}

export function quotaExhausted(): FakeRaw {
  const message = "You exceeded your current quota, please check your plan and billing details.";
  return refusedWith(new Refusal(message, { status: 429, type: "insufficient_quota", code: "insufficient_quota" }));
}

export function serverFault(status = 500): FakeRaw {
  const message = "The server had an error while processing your request. Sorry about that!";
  return refusedWith(new Refusal(message, { status, type: "server_error", code: "server_error" }));
}

export function contextTooLong(): FakeRaw {
  const message = "Your input exceeds the context window of this model. Please adjust your input and try again.";
  return refusedWith(new Refusal(message, { param: "input", code: "context_length_exceeded" }));
}

export function contentRefused(): FakeRaw {
  const message = "Invalid prompt: your prompt was flagged as potentially violating our usage policy.";
  return refusedWith(new Refusal(message, { code: "invalid_prompt" }));
}
