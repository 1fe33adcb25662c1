import assert from "node:assert/strict";
import { test } from "node:test";
import { httpFailure, retryAfterOf, streamFailure } from "./http-failures.ts";

test("[C7] retry-after is read as seconds, as a date and as milliseconds", () => {
  const now = Date.parse("2026-11-21T10:00:00Z");
  const read = (headers: Record<string, string>): number | null => retryAfterOf(new Headers(headers), now);
  assert.equal(read({ "retry-after": "7" }), 7_000);
  assert.equal(read({ "retry-after": " 0.5 " }), 500);
  assert.equal(read({ "retry-after": "Sat, 21 Nov 2026 10:01:30 GMT" }), 90_000);
  assert.equal(read({ "retry-after": "Sat, 21 Nov 2026 09:00:00 GMT" }), 0);
  assert.equal(read({ "retry-after-ms": "120", "retry-after": "9" }), 120);
  for (const none of ["", "soon", "-5"]) assert.equal(read({ "retry-after": none }), null, none);
  assert.equal(read({}), null);
});

test("[C7] a failure names the wait that the provider requests, and is never long or empty", () => {
  const refusal = { status: 429, words: "slow", retryAfterMs: 90_000 };
  const { message } = httpFailure("provider_rate_limited", refusal);
  assert.equal(message, "slow (HTTP 429; it asks to wait 90 s)");
  for (const words of [null, ""]) {
    const { message: without } = httpFailure("provider_rejected", { status: 400, words, retryAfterMs: null });
    assert.equal(without, "it gave no reason (HTTP 400)");
    assert.equal(streamFailure("provider_rejected", words).message, "it failed and gave no reason");
  }
  assert.equal(streamFailure("provider_rejected", "x".repeat(5_000)).message.length, 1_000);
});

test("[E8] the words of a provider about a refused key are not passed on", () => {
  const refusal = { status: 401, words: "Incorrect API key provided: sk-te***6789.", retryAfterMs: null };
  assert.equal(httpFailure("provider_unauthenticated", refusal).message, "it answered 401 to the API key");
});
