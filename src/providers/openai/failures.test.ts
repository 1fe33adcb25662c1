import assert from "node:assert/strict";
import { test } from "node:test";
import { type ErrorCode, errorCatalogue, type Failure } from "../../domain/errors.ts";
import { failedStream, refusedRequest } from "../../../testing/provider-wire.ts";
import { openaiErrors } from "./failures.ts";

const refused = (status: number, error: unknown, retryAfterMs?: number): Failure =>
  refusedRequest(openaiErrors, [status, { error }], retryAfterMs === undefined ? {} : { retryAfterMs }).failure;

test("[C3] a forgotten chain is known by code, by parameter or by message, with 400 or 404", () => {
  const message = "Previous response with id 'resp_1' not found.";
  const forms = [
    { code: "previous_response_not_found" },
    { param: "previous_response_id", code: null, message: "gone" },
    { message },
    { code: "invalid_request_error", message: "Invalid `previous_response_id`." },
  ];
  for (const form of forms) {
    for (const status of [400, 404]) {
      assert.equal(refused(status, form).code, "chain_forgotten", JSON.stringify(form));
    }
    assert.notEqual(refused(500, form).code, "chain_forgotten");
    assert.equal(failedStream(openaiErrors, form).code, "chain_forgotten");
  }
  assert.equal(refused(404, { message: "Item with id 'rs_1' not found." }).code, "provider_rejected");
});

const cases: [status: number, error: Record<string, unknown>, code: ErrorCode][] = [
  [400, {}, "provider_rejected"],
  [400, { code: "invalid_value", param: "input[0]" }, "provider_rejected"],
  [400, { code: "context_length_exceeded" }, "context_window_exceeded"],
  [400, { message: "This model's maximum context length is 8192 tokens." }, "context_window_exceeded"],
  [400, { code: "invalid_prompt" }, "provider_refused_content"],
  [400, { code: "content_policy_violation" }, "provider_refused_content"],
  [401, { code: "invalid_api_key" }, "provider_unauthenticated"],
  [403, { message: "Country not supported" }, "provider_unauthenticated"],
  [404, { code: "model_not_found" }, "provider_rejected"],
  [408, {}, "provider_unavailable"],
  [409, {}, "provider_unavailable"],
  [429, { code: "insufficient_quota" }, "provider_quota_exhausted"],
  [429, { type: "insufficient_quota" }, "provider_quota_exhausted"],
  [429, { code: "rate_limit_exceeded" }, "provider_rate_limited"],
  [429, {}, "provider_rate_limited"],
  [500, {}, "provider_unavailable"],
  [503, { code: "constructor", message: 7 }, "provider_unavailable"],
  [301, {}, "provider_rejected"],
];

test("[C7] every HTTP error has its code, and is retried only where that may help", () => {
  for (const [status, error, code] of cases) {
    const failure = refused(status, error);
    assert.equal(failure.code, code, `${status} ${JSON.stringify(error)}`);
    assert.equal(failure.retryable, errorCatalogue[code].retryable);
    assert.notEqual(failure.message, "");
  }
});

test("[C7] an error within a stream has its code too", () => {
  const codeOf = (error: unknown): ErrorCode => failedStream(openaiErrors, error).code;
  assert.equal(codeOf({ code: "server_error", message: "oh" }), "provider_unavailable");
  assert.equal(codeOf({ code: "rate_limit_exceeded", message: "oh" }), "provider_rate_limited");
  assert.equal(codeOf({ code: "bio_policy", message: "no" }), "provider_refused_content");
  assert.equal(codeOf({ code: "invalid_image", message: "no" }), "provider_rejected");
  for (const nothing of [null, undefined, 5, "text", {}]) assert.equal(codeOf(nothing), "provider_unavailable");
});

test("errors are read from any body", () => {
  const error = { message: "m", type: "t", param: "p", code: 7 };
  assert.deepEqual(openaiErrors.read(error), { ...error, code: "7" });
  const messageOf = (body: unknown): string => refusedRequest(openaiErrors, [400, body]).failure.message;
  assert.equal(messageOf({ error }), "acme: m (HTTP 400)");
  assert.equal(messageOf('{"error":"plain words"}'), "acme: plain words (HTTP 400)");
  for (const other of ["", "<html>", "[]", "null", '{"error":null}', '{"detail":"x"}']) {
    assert.equal(messageOf(other), "acme gave no reason (HTTP 400)", other);
  }
  assert.equal(refused(400, { message: "x".repeat(5_000) }).message.length < 1_100, true);
});

test("[C7] a failure names the wait that the provider requests", () => {
  assert.match(refused(429, { message: "slow" }, 90_000).message, /^acme: slow \(HTTP 429; it asks to wait 90 s\)$/);
});
