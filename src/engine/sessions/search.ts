/** Finds sessions by words of their texts (S8). */
import type { Caller } from "../../domain/caller.ts";
import { AptoveError } from "../../domain/errors.ts";
import { limits } from "../../domain/limits.ts";
import type { TextHit } from "../../records/record-store.ts";
import { pageLimit, scopeOf } from "../access/access.ts";
import type { EngineCore } from "../turn/live/engine-core.ts";

export async function searchSessions(
  core: EngineCore,
  caller: Caller,
  { text, limit = limits.pageSizeDefault }: { text: string; limit?: number },
): Promise<TextHit[]> {
  const words = [...new Set(text.split(/\s+/u).filter((word) => word !== ""))];
  if (words.length === 0) throw new AptoveError("request_invalid", "a search needs at least one word");
  if (words.length > limits.searchWordsMax) {
    throw new AptoveError("request_invalid", `a search can have at most ${limits.searchWordsMax} words`);
  }
  return await core.deps.records.search.find({ ...scopeOf(caller), words, limit: pageLimit(limit) });
}
