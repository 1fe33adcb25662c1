import assert from "node:assert/strict";
import { AsyncLocalStorage } from "node:async_hooks";
import { test } from "node:test";
import { Batcher } from "./batcher.ts";

test("[H3] a batch runs in the context of none of its callers, and each caller goes on in its own", async () => {
  const turn = new AsyncLocalStorage<string>();
  const seen: (string | undefined)[] = [];
  const batcher = new Batcher<string, string>(
    async (items) => {
      seen.push(turn.getStore());
      await Promise.resolve();
      seen.push(turn.getStore());
      return items;
    },
    { countMax: 1, weightMax: 1 },
  );
  const after = async (id: string) =>
    await turn.run(id, async () => {
      await batcher.add(id);
      return turn.getStore();
    });
  assert.deepEqual(await Promise.all(["one", "two"].map(after)), ["one", "two"]);
  assert.deepEqual(
    seen,
    Array.from({ length: 4 }, () => undefined),
  );
});
