import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { type ErrorCode, failure } from "../../../domain/errors.ts";
import { limits } from "../../../domain/limits.ts";
import { retryDelay } from "./retry-delay.ts";

const attemptsMax = limits.providerAttemptsMax;
const limited = failure("provider_rate_limited", "slow down");

test("[C7] the wait doubles, and half of it is chance", () => {
  const waits = [1, 2, 3].map((attempt) =>
    [0, 1].map((random) => retryDelay({ attempt, attemptsMax, failure: limited, retryAfterMs: null, random })),
  );
  assert.deepEqual(waits, [
    [250, 500],
    [500, 1000],
    [1000, 2000],
  ]);
});

test("[C7] a retry-after is honoured: never earlier, a little later", () => {
  assert.equal(retryDelay({ attemptsMax, attempt: 1, failure: limited, retryAfterMs: 7_000, random: 0 }), 7_000);
  assert.equal(retryDelay({ attemptsMax, attempt: 1, failure: limited, retryAfterMs: 7_000, random: 1 }), 7_500);
  assert.equal(retryDelay({ attemptsMax, attempt: 1, failure: limited, retryAfterMs: 0, random: 0 }), 0);
});

test("[C7] a retry-after beyond the longest wait is not waited for", () => {
  const most = limits.providerBackoffMaxMs;
  assert.equal(retryDelay({ attemptsMax, attempt: 1, failure: limited, retryAfterMs: most, random: 0 }), most);
  assert.equal(retryDelay({ attemptsMax, attempt: 1, failure: limited, retryAfterMs: most + 1, random: 0 }), null);
});

test("[C7] after the last attempt there is none", () => {
  const last = attemptsMax;
  assert.notEqual(
    retryDelay({ attemptsMax, attempt: last - 1, failure: limited, retryAfterMs: null, random: 0.5 }),
    null,
  );
  assert.equal(retryDelay({ attemptsMax, attempt: last, failure: limited, retryAfterMs: null, random: 0.5 }), null);
});

test("[C7] an exhausted quota, a bad request and refused content are not retried", () => {
  const final: ErrorCode[] = [
    "provider_quota_exhausted",
    "provider_rejected",
    "provider_refused_content",
    "provider_unauthenticated",
    "provider_answer_invalid",
    "context_window_exceeded",
    "chain_forgotten",
    "interrupted",
  ];
  for (const code of final) {
    const attempt = { attempt: 1, attemptsMax, failure: failure(code, ""), retryAfterMs: 1, random: 0 };
    assert.equal(retryDelay(attempt), null, code);
  }
  for (const code of ["provider_rate_limited", "provider_unavailable", "provider_stream_cut"] as const) {
    const attempt = { attempt: 1, attemptsMax, failure: failure(code, ""), retryAfterMs: null, random: 0 };
    assert.notEqual(retryDelay(attempt), null, code);
  }
});

test("[C7] every wait is a whole number within its bounds", () => {
  const attempts = fc.record({
    attempt: fc.integer({ min: 1, max: 50 }),
    retryAfterMs: fc.option(fc.integer({ min: 0, max: 10 * limits.providerBackoffMaxMs })),
    random: fc.double({ min: 0, max: 1, noNaN: true }),
  });
  fc.assert(
    fc.property(attempts, (given) => {
      const wait = retryDelay({ ...given, attemptsMax, failure: limited });
      if (wait === null) return;
      assert.ok(Number.isInteger(wait) && wait >= (given.retryAfterMs ?? 0));
      assert.ok(wait <= limits.providerBackoffMaxMs + limits.providerBackoffMs);
    }),
  );
});
