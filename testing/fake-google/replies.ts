/** The answers that a test can script. */
import { type FakeRaw, type FakeSilence, refusedWith, type StreamPlan } from "../fake-server/deliver.ts";
import { type Detail, GoogleRefusal } from "./refusal.ts";

/** `signed`: the last part carries a signature; `apart`: an empty part after it does. */
export type FakeOutput =
  | { type: "text" | "thought"; text: string; signed?: boolean | "apart" }
  /** `id: null`: the call has no id, as in earlier versions. By default the first call is signed. */
  | { type: "call"; name: string; args: Record<string, unknown>; id?: string | null; signed?: boolean };

export interface FakeAnswer extends StreamPlan {
  output: FakeOutput[];
  /** The default is `STOP`. Null: none is sent. */
  finishReason?: string | null;
  finishMessage?: string;
  /** The default is counted from the texts. Null: none is sent. */
  usage?: Record<string, unknown> | null;
  /** The reason why the prompt is blocked. The answer is then empty. */
  blockReason?: string;
  /** An error that replaces the end of the answer. */
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

/** `retryDelay`: a duration in Google's form, for example `7.5s`. */
export function rateLimited(retryDelay = "7s"): FakeRaw {
  return exhausted("GenerateRequestsPerMinutePerProjectPerModel", retryDelay);
}

/** The error for a used-up daily quota. It contains a delay too, although waiting does not help. */
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
