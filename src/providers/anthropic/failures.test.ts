import assert from "node:assert/strict";
import { test } from "node:test";
import { type ErrorCode, errorCatalogue } from "../../domain/errors.ts";
import { failedStream, refusedRequest } from "../../../testing/provider-wire.ts";
import { anthropicErrors } from "./failures.ts";

const invalid = (message: string) => ({ type: "invalid_request_error", message });
const detailed = (type: string, code: string) => ({ type, message: "it says so", details: { error_code: code } });

const cases: [status: number, error: unknown, code: ErrorCode][] = [
  [400, invalid("max_tokens: Field required"), "provider_rejected"],
  [400, invalid("prompt is too long: 210000 tokens > 200000 maximum"), "context_window_exceeded"],
  [
    400,
    invalid("input length and `max_tokens` exceed context limit: 190000 + 32000 > 200000"),
    "context_window_exceeded",
  ],
  [400, invalid("Your credit balance is too low to access the Anthropic API."), "provider_quota_exhausted"],
  [400, invalid("You have reached your specified API usage limits."), "provider_quota_exhausted"],
  [400, invalid("You have reached your specified workspace API usage limits."), "provider_quota_exhausted"],
  [400, invalid("Output blocked by content filtering policy"), "provider_refused_content"],
  [400, detailed("invalid_request_error", "organization_on_hold"), "provider_unauthenticated"],
  [400, {}, "provider_rejected"],
  [401, { type: "authentication_error", message: "invalid x-api-key" }, "provider_unauthenticated"],
  [402, { type: "billing_error", message: "pay" }, "provider_quota_exhausted"],
  [402, {}, "provider_quota_exhausted"],
  [403, { type: "permission_error", message: "no" }, "provider_unauthenticated"],
  [404, { type: "not_found_error", message: "model: claude-9" }, "provider_rejected"],
  [409, {}, "provider_unavailable"],
  [413, { type: "request_too_large", message: "Request exceeds the maximum size" }, "context_window_exceeded"],
  [413, {}, "context_window_exceeded"],
  [429, { type: "rate_limit_error", message: "slow" }, "provider_rate_limited"],
  [429, detailed("rate_limit_error", "ramp_limit_exceeded"), "provider_rate_limited"],
  [429, detailed("rate_limit_error", "enforced_spend_limit_reached"), "provider_quota_exhausted"],
  [429, detailed("rate_limit_error", "contract_spend_limit_reached"), "provider_quota_exhausted"],
  [429, detailed("rate_limit_error", "brand_new"), "provider_rate_limited"],
  [429, {}, "provider_rate_limited"],
  [500, { type: "api_error", message: "oh" }, "provider_unavailable"],
  [503, { type: 7, message: null, details: "x" }, "provider_unavailable"],
  [504, { type: "timeout_error", message: "late" }, "provider_unavailable"],
  [529, { type: "overloaded_error", message: "Overloaded" }, "provider_unavailable"],
  [301, {}, "provider_rejected"],
];

test("[C7] every HTTP error has its code, and is retried only where that may help", () => {
  for (const [status, error, code] of cases) {
    const { failure } = refusedRequest(anthropicErrors, [status, { type: "error", error }]);
    assert.equal(failure.code, code, `${status} ${JSON.stringify(error)}`);
    assert.equal(failure.retryable, errorCatalogue[code].retryable);
    assert.notEqual(failure.message, "");
  }
});

test("[C7] an error within a stream has its code too", () => {
  const codeOf = (error: unknown): ErrorCode => failedStream(anthropicErrors, error).code;
  assert.equal(codeOf({ type: "overloaded_error", message: "Overloaded" }), "provider_unavailable");
  assert.equal(codeOf({ type: "rate_limit_error", message: "slow" }), "provider_rate_limited");
  assert.equal(codeOf(invalid("Output blocked by content filtering policy")), "provider_refused_content");
  assert.equal(codeOf(invalid("no")), "provider_rejected");
  for (const nothing of [null, undefined, 5, "text", {}]) assert.equal(codeOf(nothing), "provider_unavailable");
});

test("errors are read from any body, and named by their type if they have no message", () => {
  const messageOf = (body: string): string => refusedRequest(anthropicErrors, [400, body]).failure.message;
  assert.equal(messageOf('{"error":"plain words"}'), "acme: plain words (HTTP 400)");
  for (const other of ["", "<html>", "[]", "null", '{"error":null}', '{"detail":"x"}']) {
    assert.equal(messageOf(other), "acme gave no reason (HTTP 400)", other);
  }
  const wordless = [529, { error: { type: "overloaded_error" } }] as const;
  const { failure } = refusedRequest(anthropicErrors, wordless, { retryAfterMs: 90_000 });
  assert.equal(failure.message, "acme: overloaded_error (HTTP 529; it asks to wait 90 s)");
});
