import assert from "node:assert/strict";
import { test } from "node:test";
import { sharedCacheSuite } from "../shared-cache.suite.ts";
import { memoryCache } from "./memory-cache.ts";

sharedCacheSuite("the cache in memory", async () => {
  const cache = memoryCache();
  return [cache, cache];
});

test("[Q7] the memory of a cache is bounded: what was used longest ago goes first", async () => {
  const cache = memoryCache(100);
  for (const key of ["a", "b", "c"]) cache.set(key, key.repeat(30));
  assert.equal(await cache.get("a"), "a".repeat(30));
  cache.set("d", "d".repeat(30));
  const kept = await Promise.all(["a", "b", "c", "d"].map((key) => cache.get(key)));
  assert.deepEqual(
    kept.map((text) => text !== null),
    [true, false, true, true],
  );
});
