import assert from "node:assert/strict";
import { test } from "node:test";
import { noUsage, unknownUsage } from "../domain/usage.ts";
import { toWireUsage } from "./values.ts";

test("[T4] a count that no provider reported is null on the wire; what was reported is there", () => {
  const nothing = {
    inputTokens: null,
    outputTokens: null,
    cachedTokens: null,
    reasoningTokens: null,
    totalTokens: null,
  };
  assert.deepEqual(toWireUsage(unknownUsage), { ...nothing, isPartial: true });
  const started = toWireUsage({ ...unknownUsage, input: 12, total: 12, written: 4 });
  assert.deepEqual(started, { ...nothing, inputTokens: 12, totalTokens: 12, cacheWriteTokens: 4, isPartial: true });
  assert.equal(toWireUsage(noUsage).totalTokens, 0);
});
