/** What every shared cache must do, as tests. Run it on your own driver to know that it keeps the contract (B5). */
import assert from "node:assert/strict";
import { suite, test, type TestContext } from "node:test";
import { newId } from "../domain/ids.ts";
import { limits } from "../domain/limits.ts";
import type { SharedCache } from "./shared-cache.ts";

/** Opens two ends, as two processes have them, and registers with `context.after` what must be closed. In memory both are the same. */
export type OpenCachesForTest = (context: TestContext) => Promise<[SharedCache, SharedCache]>;

/** Registers the tests in a suite of this name. */
export function sharedCacheSuite(name: string, open: OpenCachesForTest): void {
  suite(name, () => {
    test("[Q7] a text that was set is read at once where it was set, and then by every process", async (context) => {
      const [here, there] = await open(context);
      const key = `search:${newId()}`;
      assert.equal(await here.get(key), null);
      const text = `{"a":"ä \u{1F600} ${"x".repeat(10_000)}"}`;
      here.set(key, text);
      assert.equal(await here.get(key), text);
      while ((await there.get(key)) === null) await new Promise((resolve) => setImmediate(resolve));
      assert.equal(await there.get(key), text);
      assert.equal(await here.get(`${key}0`), null);
    });

    test("[Q7] a text that is too large is not kept, and is no failure", async (context) => {
      const [here] = await open(context);
      const key = `search:${newId()}`;
      here.set(key, "x".repeat(limits.sharedCacheCharactersMax + 1));
      assert.equal(await here.get(key), null);
    });
  });
}
