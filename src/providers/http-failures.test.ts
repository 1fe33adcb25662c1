import assert from "node:assert/strict";
import { test } from "node:test";
import { type ErrorWire, httpErrorEvent, httpFailure, retryAfterOf, streamErrorFailure } from "./http-failures.ts";

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

const plain: ErrorWire<string | null> = {
  read: (error) => (typeof error === "string" ? error : null),
  codeOf: () => "provider_rejected",
  messageOf: (error) => error,
};

test("[C7] a wait without end, or longer than a year, counts as none", () => {
  const wire = { ...plain, codeOf: () => "provider_rate_limited" as const };
  const refused = { provider: "acme", model: "m", hasKey: true, status: 429, body: "slow" };
  for (const wait of ["9".repeat(400), String(366 * 24 * 3_600)]) {
    const retryAfterMs = retryAfterOf(new Headers({ "retry-after": wait }), 0);
    const failed = httpErrorEvent(wire, { ...refused, retryAfterMs });
    assert.equal(failed.retryAfterMs, null);
    assert.doesNotMatch(failed.failure.message, /wait/);
    const inBody = { ...wire, retryAfterIn: () => Number(wait) * 1_000 };
    assert.equal(httpErrorEvent(inBody, { ...refused, retryAfterMs: null }).retryAfterMs, null);
  }
});

test("[C7] a failure names the provider and the wait that it requests, and is never long or empty", () => {
  const provider = "acme";
  const waiting = (retryAfterMs: number): string =>
    httpFailure("provider_rate_limited", { provider, status: 429, words: "slow", retryAfterMs }).message;
  assert.equal(waiting(90_000), "acme: slow (HTTP 429; it asks to wait 90 s)");
  assert.equal(waiting(3_600_000), "acme: slow (HTTP 429; it asks to wait 60 minutes)");
  for (const words of [null, ""]) {
    const { message } = httpFailure("provider_rejected", { provider, status: 400, words, retryAfterMs: null });
    assert.equal(message, "acme gave no reason (HTTP 400)");
    assert.equal(streamErrorFailure(plain, provider, words).message, "acme failed and gave no reason");
  }
  assert.equal(streamErrorFailure(plain, provider, "x".repeat(5_000)).message.length, 1_000 + "acme: ".length);
});

test("[E8] the words of a provider about a refused key are not passed on", () => {
  const words = "Incorrect API key provided: sk-te***6789.";
  const refusal = { provider: "acme", status: 401, words, retryAfterMs: null };
  assert.equal(httpFailure("provider_unauthenticated", refusal).message, "acme answered 401 to the API key");
});
