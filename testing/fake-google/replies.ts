/** What the fake can be told to answer. */
import { type FakeRaw, type FakeSilence, refusedWith, type StreamPlan } from "../fake-server/deliver.ts";
import { type Detail, GoogleRefusal } from "./refusal.ts";

/** `signed`: the last part carries a signature; `apart`: an empty part after it does. */
export type FakeOutput =
  | { type: "text" | "thought"; text: string; signed?: boolean | "apart" }
  /** `id: null`: none is given, as earlier versions did. The first call is signed unless it is said otherwise. */
  | { type: "call"; name: string; args: Record<string, unknown>; id?: string | null; signed?: boolean };

export interface FakeAnswer extends StreamPlan {
  output: FakeOutput[];
  /** `STOP`, if absent. */
  finishReason?: string | null;
  finishMessage?: string;
  /** Counted from the texts, if absent; null: none is sent. */
  usage?: Record<string, unknown> | null;
  /** The prompt is blocked, and nothing is said. */
  blockReason?: string;
  /** Takes the place of the end. */
  error?: GoogleRefusal;
}

/** A text is the short form of an answer with one text. */
export type FakeReply = string | FakeAnswer | FakeRaw | FakeSilence;

const typed = (name: string, fields: Record<string, unknown>): Detail => ({
  "@type": `type.googleapis.com/google.rpc.${name}`,
  ...fields,
});

export function apiKeyInvalid(): GoogleRefusal {
  const reason = typed("ErrorInfo", { reason: "API_KEY_INVALID", domain: "googleapis.com" });
  return new GoogleRefusal("API key not valid. Please pass a valid API key.", { details: [reason] });
}

function exhausted(quotaId: string, retryDelay: string): FakeRaw {
  const message = "You exceeded your current quota, please check your plan and billing details.";
  const details = [
    typed("QuotaFailure", { violations: [{ quotaMetric: "generate_content_requests", quotaId, quotaValue: "10" }] }),
    typed("Help", { links: [] }),
    typed("RetryInfo", { retryDelay }),
  ];
  return refusedWith(new GoogleRefusal(message, { status: 429, details }));
}

/** `retryDelay` as Google writes it, for example `7.5s`. */
export function rateLimited(retryDelay = "7s"): FakeRaw {
  return exhausted("GenerateRequestsPerMinutePerProjectPerModel", retryDelay);
}

/** It names a delay here too, which does not help. */
export function quotaExhausted(): FakeRaw {
  return exhausted("GenerateRequestsPerDayPerProjectPerModel-FreeTier", "36s");
}

export function overloaded(): GoogleRefusal {
  return new GoogleRefusal("The model is overloaded. Please try again later.", { status: 503 });
}

export function contextTooLong(): FakeRaw {
  const message = "The input token count (1048577) exceeds the maximum number of tokens allowed (1048576).";
  return refusedWith(new GoogleRefusal(message));
}
