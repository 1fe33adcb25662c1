/**
 * What OpenAI's errors mean (C3, C7). The same codes come as the body of an HTTP error, inside a failed
 * response, and as an `error` event in the middle of a stream.
 */
import { z } from "zod";
import type { ErrorCode, Failure } from "../../domain/errors.ts";
import { codeByStatus, httpFailure, streamFailure } from "../http-failures.ts";

/** An error as OpenAI writes it; fields that were not given are null. */
export interface WireError {
  message: string | null;
  type: string | null;
  code: string | null;
  param: string | null;
}

const nothing: WireError = { message: null, type: null, code: null, param: null };

const optionalText = z
  .union([z.string(), z.number()])
  .nullish()
  .transform((value) => (value === undefined || value === null ? null : String(value)))
  .catch(null);

const wireError = z
  .object({ message: optionalText, type: optionalText, code: optionalText, param: optionalText })
  .catch(nothing);

/** Reads an error object of any shape; what is not one has no fields. */
export function readWireError(value: unknown): WireError {
  return wireError.parse(value);
}

/** Reads the body of an HTTP error: `{error: {…}}`, `{error: "…"}`, or anything else. */
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

const byWireCode = new Map<string | null, ErrorCode>(
  Object.entries({
    insufficient_quota: "provider_quota_exhausted",
    billing_hard_limit_reached: "provider_quota_exhausted",
    rate_limit_exceeded: "provider_rate_limited",
    context_length_exceeded: "context_window_exceeded",
    invalid_api_key: "provider_unauthenticated",
    server_error: "provider_unavailable",
    server_is_overloaded: "provider_unavailable",
    bio_policy: "provider_refused_content",
    content_filter: "provider_refused_content",
    content_policy_violation: "provider_refused_content",
    cyber_policy: "provider_refused_content",
    invalid_prompt: "provider_refused_content",
    misalignment_policy_violation: "provider_refused_content",
    moderation_blocked: "provider_refused_content",
  } satisfies Record<string, ErrorCode>),
);

/**
 * Whether the error says that `previous_response_id` is unknown or expired (C3). Several forms are in use:
 * 400 or 404, with a code, with only the parameter, or with nothing but a message.
 */
function isForgottenChain(status: number | null, { code, param, message }: WireError): boolean {
  if (status !== null && status !== 400 && status !== 404) return false;
  return (
    code === "previous_response_not_found" ||
    param === "previous_response_id" ||
    /previous[ _]response/i.test(message ?? "")
  );
}

function errorCodeOf(status: number | null, error: WireError): ErrorCode {
  if (isForgottenChain(status, error)) return "chain_forgotten";
  const named = byWireCode.get(error.code) ?? byWireCode.get(error.type);
  if (named !== undefined) return named;
  if (/maximum context length|context window/i.test(error.message ?? "")) return "context_window_exceeded";
  return status === null ? "provider_rejected" : codeByStatus(status);
}

/** The failure that an HTTP error stands for. */
export function refusalOf(status: number, error: WireError, retryAfterMs: number | null): Failure {
  return httpFailure(errorCodeOf(status, error), { status, words: wordsOf(error), retryAfterMs });
}

/** The failure that an error inside a stream stands for. */
export function failureInStream(error: WireError): Failure {
  const code = error.code === null && error.message === null ? "provider_unavailable" : errorCodeOf(null, error);
  return streamFailure(code, wordsOf(error));
}

function wordsOf({ message, code }: WireError): string | null {
  return message ?? code;
}
