/**
 * What Anthropic's errors mean (C7). The same object comes as the body of an HTTP error and as an `error` event in
 * the middle of a stream. A code in its details names the cause; else its type does, and for a few causes that
 * have neither, its words.
 */
import { z } from "zod";
import type { ErrorCode, Failure } from "../../domain/errors.ts";
import { codeByStatus, httpFailure, streamFailure } from "../http-failures.ts";

/** An error as Anthropic writes it; fields that were not given are null. */
export interface WireError {
  type: string | null;
  message: string | null;
  /** From its details. */
  code: string | null;
}

const nothing: WireError = { type: null, message: null, code: null };

const optionalText = z.string().nullish().catch(null);

const wireError = z
  .object({
    type: optionalText,
    message: optionalText,
    details: z.object({ error_code: optionalText }).nullish().catch(null),
  })
  .transform(({ type, message, details }): WireError => ({
    type: type ?? null,
    message: message ?? null,
    code: details?.error_code ?? null,
  }))
  .catch(nothing);

/** Reads an error object of any shape; what is not one has no fields. */
export function readWireError(value: unknown): WireError {
  return wireError.parse(value);
}

/** Reads the body of an HTTP error: `{type: "error", error: {…}}`, `{error: "…"}`, or anything else. */
export function readErrorBody(body: string): WireError {
  try {
    const parsed = z.object({ error: z.unknown() }).safeParse(JSON.parse(body));
    if (!parsed.success) return nothing;
    const { error } = parsed.data;
    return typeof error === "string" ? { ...nothing, message: error } : readWireError(error);
  } catch {
    // Not JSON, for example a proxy's own page: the status says enough.
    return nothing;
  }
}

const byDetailCode = new Map<string | null, ErrorCode>(
  Object.entries({
    contract_spend_limit_reached: "provider_quota_exhausted",
    enforced_spend_limit_reached: "provider_quota_exhausted",
    linked_organization_billing_unavailable: "provider_quota_exhausted",
    linked_organization_spend_limit_reached: "provider_quota_exhausted",
    organization_on_hold: "provider_unauthenticated",
    ramp_limit_exceeded: "provider_rate_limited",
    request_body_too_large_after_decoding: "context_window_exceeded",
  } satisfies Record<string, ErrorCode>),
);

const byType = new Map<string | null, ErrorCode>(
  Object.entries({
    api_error: "provider_unavailable",
    authentication_error: "provider_unauthenticated",
    billing_error: "provider_quota_exhausted",
    not_found_error: "provider_rejected",
    overloaded_error: "provider_unavailable",
    permission_error: "provider_unauthenticated",
    rate_limit_error: "provider_rate_limited",
    // Larger than any request may be: a smaller history mends it (C4).
    request_too_large: "context_window_exceeded",
    timeout_error: "provider_unavailable",
  } satisfies Record<string, ErrorCode>),
);

/** Of invalid requests, which are most of what is refused, only the words say more. */
const byWords: [words: RegExp, code: ErrorCode][] = [
  [/prompt is too long|exceed context limit|context window/i, "context_window_exceeded"],
  [/credit balance is too low|API usage limits/i, "provider_quota_exhausted"],
  [/content filtering policy/i, "provider_refused_content"],
];

function errorCodeOf(status: number | null, { type, message, code }: WireError): ErrorCode {
  const named = byDetailCode.get(code) ?? byType.get(type);
  if (named !== undefined) return named;
  const said = byWords.find(([words]) => words.test(message ?? ""));
  if (said !== undefined) return said[1];
  if (status === 402) return "provider_quota_exhausted";
  if (status === 413) return "context_window_exceeded";
  return status === null ? "provider_rejected" : codeByStatus(status);
}

/** The failure that an HTTP error stands for. */
export function refusalOf(status: number, error: WireError, retryAfterMs: number | null): Failure {
  return httpFailure(errorCodeOf(status, error), { status, words: wordsOf(error), retryAfterMs });
}

/** The failure that an error inside a stream stands for. */
export function failureInStream(error: WireError): Failure {
  const code = error.type === null && error.message === null ? "provider_unavailable" : errorCodeOf(null, error);
  return streamFailure(code, wordsOf(error));
}

function wordsOf({ message, type }: WireError): string | null {
  return message ?? type;
}
