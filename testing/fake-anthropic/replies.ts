/** The answers that a test can script. */
import type { RefusalStopDetails, StopReason } from "@anthropic-ai/sdk/resources/messages/messages";
import { type FakeRaw, type FakeSilence, refusedWith, type StreamPlan } from "../fake-server/deliver.ts";
import { Refusal, type RefusalType } from "./refusal.ts";

export type FakeOutput =
  | { type: "text"; text: string }
  | { type: "thinking"; text: string }
  | { type: "redacted_thinking" }
  /** `input` is the JSON text that the model writes, complete or not. It is empty for a call without arguments. */
  | { type: "tool_use"; name: string; input: string; id?: string };

/** `error`: an error event in the middle of the stream, which then ends. */
export type FakeEnding =
  | { stopReason: StopReason; explanation?: string; category?: RefusalStopDetails["category"] }
  | { error: { type: RefusalType; message: string; errorCode?: string } };

export interface FakeAnswer extends StreamPlan {
  output: FakeOutput[];
  /** The end of the answer. By default it fits the output. */
  ending?: FakeEnding;
}

/** A text is the short form of an answer with one block. */
export type FakeReply = string | FakeAnswer | FakeRaw | FakeSilence;

/** `retryAfter`: seconds, or an HTTP date. */
export function rateLimited(retryAfter?: string, errorCode?: string): FakeRaw {
  const message = "This request would exceed your organization's rate limit of 50 requests per minute.";
  const code = errorCode === undefined ? {} : { errorCode };
  const refusal = new Refusal(message, { status: 429, type: "rate_limit_error", ...code });
  return refusedWith(refusal, retryAfter === undefined ? {} : { "retry-after": retryAfter });
}

export function overloaded(): FakeRaw {
  return refusedWith(new Refusal("Overloaded", { status: 529, type: "overloaded_error" }));
}

export function serverFault(status = 500): FakeRaw {
  return refusedWith(new Refusal("Internal server error", { status, type: "api_error" }));
}

/** The three ways in which money runs out: no credit is left, the customer's own limit is reached, or a bill was not paid. */
export function outOfMoney(how: "credit" | "limit" | "billing"): FakeRaw {
  switch (how) {
    case "credit": {
      const message = "Your credit balance is too low to access the Anthropic API.";
      return refusedWith(new Refusal(`${message} Please go to Plans & Billing to upgrade or purchase credits.`));
    }
    case "limit": {
      const message = "You have reached your specified API usage limits.";
      return refusedWith(new Refusal(`${message} You will regain access on 2026-12-01 at 00:00 UTC.`));
    }
    case "billing":
      return refusedWith(new Refusal("Your payment has failed.", { status: 402, type: "billing_error" }));
  }
}

export function promptTooLong(): FakeRaw {
  return refusedWith(new Refusal("prompt is too long: 210000 tokens > 200000 maximum"));
}

export function requestTooLarge(): FakeRaw {
  const message = "Request exceeds the maximum size";
  return refusedWith(new Refusal(message, { status: 413, type: "request_too_large" }));
}

export function contentRefused(): FakeRaw {
  return refusedWith(new Refusal("Output blocked by content filtering policy"));
}
