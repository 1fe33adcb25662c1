/**
 * What Anthropic's errors mean (C7). The same object comes as the body of an HTTP error and as an `error` event in
 * the middle of a stream. A code in its details names the cause. Without one the type names it, and for a few causes
 * that have neither, the message does.
 */
import * as z from "zod";
import type { ErrorCode } from "../../domain/errors.ts";
import { codeByStatus, type ErrorWire } from "../http-failures.ts";

/** An error as Anthropic writes it; missing fields are null. */
interface AnthropicError {
  type: string | null;
  message: string | null;
  /** The code in the error's details. */
  code: string | null;
}

const text = z.string().nullish().catch(null);

const anthropicError = z
  .object({
    type: text,
    message: text,
    details: z.object({ error_code: text }).nullish().catch(null),
  })
  .transform(({ type, message, details }): AnthropicError => ({
    type: type ?? null,
    message: message ?? null,
    code: details?.error_code ?? null,
  }))
  .catch({ type: null, message: null, code: null });

export const anthropicErrors: ErrorWire<AnthropicError> = {
  read: (error) => anthropicError.parse(error),
  codeOf,
  messageOf: ({ message, type }) => message ?? type,
};

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
    // The request is larger than any may be; a smaller history fixes it (C4).
    request_too_large: "context_window_exceeded",
    timeout_error: "provider_unavailable",
  } satisfies Record<string, ErrorCode>),
);

/** Most refused requests have the type of an invalid request. Only the message tells these apart. */
const byMessage: [pattern: RegExp, code: ErrorCode][] = [
  [/prompt is too long|exceed context limit|context window/i, "context_window_exceeded"],
  [/credit balance is too low|API usage limits/i, "provider_quota_exhausted"],
  [/content filtering policy/i, "provider_refused_content"],
];

function codeOf({ type, message, code }: AnthropicError, status: number | null): ErrorCode {
  // An error in a stream that explains nothing is a fault of the provider.
  if (status === null && type === null && message === null) return "provider_unavailable";
  const named = byDetailCode.get(code) ?? byType.get(type);
  if (named !== undefined) return named;
  const explained = byMessage.find(([pattern]) => pattern.test(message ?? ""));
  if (explained !== undefined) return explained[1];
  if (status === 402) return "provider_quota_exhausted";
  if (status === 413) return "context_window_exceeded";
  return status === null ? "provider_rejected" : codeByStatus(status);
}
