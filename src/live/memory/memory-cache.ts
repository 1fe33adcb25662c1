/** A cache in the memory of this process: for one machine, and in front of a cache that is shared. */
import { limits } from "../../domain/limits.ts";
import { BoundedCache } from "../../system/bounded-cache.ts";
import type { SharedCache } from "../shared-cache.ts";

export function memoryCache(charactersMax: number = limits.sharedCacheCharactersMax): SharedCache {
  const kept = new BoundedCache<string>(charactersMax);
  return {
    get: async (key) => kept.get(key) ?? null,
    set: (key, text) => kept.set(key, text, key.length + text.length),
  };
}
