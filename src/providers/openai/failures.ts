/**
 * What OpenAI's errors mean (C3, C7). The same codes come as the body of an HTTP error, inside a failed
 * response, and as an `error` event in the middle of a stream.
 */
import * as z from "zod";
import type { ErrorCode } from "../../domain/errors.ts";
import { codeByStatus, type ErrorWire, optionalText } from "../http-failures.ts";

/** An error as OpenAI writes it; missing fields are null. */
interface OpenAIError {
  message: string | null;
  type: string | null;
  code: string | null;
  param: string | null;
}

const openaiError = z
  .object({ message: optionalText, type: optionalText, code: optionalText, param: optionalText })
  .catch({ message: null, type: null, code: null, param: null });

export const openaiErrors: ErrorWire<OpenAIError> = {
  read: (error) => openaiError.parse(error),
  codeOf,
  messageOf: ({ message, code }) => message ?? code,
};

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
 * Checks whether the error means that `previous_response_id` is unknown or expired (C3). Several forms are in use:
 * 400 or 404, with a code, with only the parameter, or with nothing but a message.
 */
function isForgottenChain({ code, param, message }: OpenAIError, status: number | null): boolean {
  if (status !== null && status !== 400 && status !== 404) return false;
  return (
    code === "previous_response_not_found" ||
    param === "previous_response_id" ||
    /previous[ _]response/i.test(message ?? "")
  );
}

function codeOf(error: OpenAIError, status: number | null): ErrorCode {
  // An error in a stream that explains nothing is a fault of the provider.
  if (status === null && error.code === null && error.message === null) return "provider_unavailable";
  if (isForgottenChain(error, status)) return "chain_forgotten";
  const named = byWireCode.get(error.code) ?? byWireCode.get(error.type);
  if (named !== undefined) return named;
  if (/maximum context length|context window/i.test(error.message ?? "")) return "context_window_exceeded";
  return status === null ? "provider_rejected" : codeByStatus(status);
}
