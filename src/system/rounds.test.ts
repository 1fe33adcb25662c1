/** Work that comes at once begins in the order in which it came, a few pieces in each round of the event loop. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as nextRound } from "node:timers/promises";
import { fewARound } from "./rounds.ts";

test("[R5] of ten that come at once three begin in each round, in their order, and one that comes alone waits for nothing", async () => {
  const mayBegin = fewARound(() => 3);
  const begun: number[] = [];
  for (let number = 0; number < 10; number += 1) void mayBegin().then(() => begun.push(number));
  const seen: number[] = [];
  for (let round = 0; round < 5; round += 1) {
    await Promise.resolve();
    await Promise.resolve();
    seen.push(begun.length);
    await nextRound();
  }
  assert.deepEqual(seen, [3, 6, 9, 10, 10]);
  assert.deepEqual(
    begun,
    begun.toSorted((a, b) => a - b),
  );
  let isBegun = false;
  void mayBegin().then(() => (isBegun = true));
  await Promise.resolve();
  assert.ok(isBegun);
});
