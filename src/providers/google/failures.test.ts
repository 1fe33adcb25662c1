import assert from "node:assert/strict";
import { test } from "node:test";
import type { ErrorCode } from "../../domain/errors.ts";
import { failedStream, refusedRequest } from "../../../testing/provider-wire.ts";
import { googleErrors } from "./failures.ts";

const quota = (...quotaIds: string[]) => ({ violations: quotaIds.map((quotaId) => ({ quotaId })) });
const exhausted = (...details: object[]) => ({ code: 429, message: "quota", status: "RESOURCE_EXHAUSTED", details });

const cases: [status: number, error: object, code: ErrorCode][] = [
  [400, { status: "INVALID_ARGUMENT", message: "bad" }, "provider_rejected"],
  [400, { status: "INVALID_ARGUMENT", details: [{ reason: "API_KEY_INVALID" }] }, "provider_unauthenticated"],
  [
    400,
    { message: "The input token count (1048577) exceeds the maximum number of tokens allowed (1048576)." },
    "context_window_exceeded",
  ],
  [400, { status: "FAILED_PRECONDITION", message: "User location is not supported" }, "provider_rejected"],
  [401, { status: "UNAUTHENTICATED" }, "provider_unauthenticated"],
  [403, { status: "PERMISSION_DENIED" }, "provider_unauthenticated"],
  [404, { status: "NOT_FOUND", message: "models/x is not found" }, "provider_rejected"],
  [429, exhausted(), "provider_rate_limited"],
  [429, exhausted({ retryDelay: "7s" }), "provider_rate_limited"],
  [429, exhausted(quota("GenerateRequestsPerMinutePerProjectPerModel")), "provider_rate_limited"],
  [429, exhausted(quota("A-PerMinute", "RequestsPerDay-FreeTier"), { retryDelay: "7s" }), "provider_quota_exhausted"],
  [429, {}, "provider_rate_limited"],
  [499, { status: "CANCELLED" }, "provider_unavailable"],
  [500, { status: "INTERNAL" }, "provider_unavailable"],
  [503, { status: "UNAVAILABLE", message: "overloaded" }, "provider_unavailable"],
  [504, { status: "DEADLINE_EXCEEDED" }, "provider_unavailable"],
  [502, { status: "constructor", message: 7 }, "provider_unavailable"],
];

test("[C7] every HTTP error has its code, alone or in a list", () => {
  for (const [status, error, code] of cases) {
    for (const body of [{ error }, [{ error }]]) {
      const { failure } = refusedRequest(googleErrors, [status, body]);
      assert.equal(failure.code, code, `${status} ${JSON.stringify(error)}`);
      assert.notEqual(failure.message, "");
    }
  }
});

test("[C7] an error within a stream has its code too", () => {
  const codeOf = (error: unknown): ErrorCode => failedStream(googleErrors, error).code;
  assert.equal(codeOf({ code: 503, status: "UNAVAILABLE" }), "provider_unavailable");
  assert.equal(codeOf({ code: 429, message: "slow" }), "provider_rate_limited");
  assert.equal(codeOf({ code: 400, message: "bad" }), "provider_rejected");
  for (const nothing of [null, 5, "text", {}, []]) assert.equal(codeOf(nothing), "provider_unavailable");
});

test("errors are read from any body", () => {
  const messageOf = (body: string): string => refusedRequest(googleErrors, [400, body]).failure.message;
  assert.equal(messageOf('{"error":"plain words"}'), "acme: plain words (HTTP 400)");
  for (const other of ["", "<html>", "[]", "null", '{"error":null}', '{"detail":"x"}', "[7]"]) {
    assert.equal(messageOf(other), "acme gave no reason (HTTP 400)", other);
  }
});

test("[C7] the wait is read from the retry info, unless a header requests one", () => {
  const read = (details: unknown[], headers: { retryAfterMs?: number } = {}): number | null =>
    refusedRequest(googleErrors, [429, { error: { details } }], headers).retryAfterMs;
  assert.equal(read([{ retryDelay: "36s" }]), 36_000);
  assert.equal(read([{ links: [] }, { retryDelay: "1.25s" }]), 1_250);
  assert.equal(read([{ retryDelay: "36s" }], { retryAfterMs: 7_000 }), 7_000);
  for (const none of ["", "36", "soon", "-5s", 7]) assert.equal(read([{ retryDelay: none }]), null, String(none));
  assert.equal(read([]), null);
});
