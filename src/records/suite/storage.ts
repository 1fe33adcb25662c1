/** What a store must do with the id of its blob store. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { openTwice, runSampleTurn, startSession, type OpenRecordsForTest } from "./samples.ts";

/** The parts that these tests need. */
type Parts = "storage" | "sessions" | "turns";

export function storageTests(open: OpenRecordsForTest<Parts>): void {
  test("[B4] the first blob store that was claimed stays the records' own, whatever another process claims later", async (context) => {
    const stores = await openTwice(context, open);
    if (stores === null) return;
    const [here, there] = stores;
    assert.equal(await here.storage.blobStoreId(), null);
    const claimed = await Promise.all([here.storage.claimBlobStore("one"), there.storage.claimBlobStore("two")]);
    const kept = await there.storage.blobStoreId();
    assert.deepEqual(claimed, [kept, kept]);
    assert.equal(await here.storage.claimBlobStore("three"), kept);
  });

  test("[B2] all turns can be listed in pages, whichever session they belong to", async (context) => {
    const { store } = await open(context);
    assert.deepEqual(await store.storage.turnIds({ after: null, limit: 2 }), []);
    const made: string[] = [];
    for (const session of [await startSession(store), await startSession(store)]) {
      for (let n = 0; n < 2; n += 1) made.push((await runSampleTurn(store, session.id)).id);
    }
    const found: string[] = [];
    for (let page: string[] | null = null; page === null || page.length > 0;) {
      page = await store.storage.turnIds({ after: found.at(-1) ?? null, limit: 3 });
      found.push(...page);
    }
    assert.deepEqual(found, made.toSorted());
  });

  test("[H2] a probe writes nothing that anyone reads, any number of times and in several processes", async (context) => {
    const stores = await openTwice(context, open);
    if (stores === null) return;
    const before = await stores[0].storage.about();
    await Promise.all([...stores, ...stores].map((store) => store.storage.probe()));
    assert.deepEqual(await stores[1].storage.about(), before);
    assert.equal(await stores[1].storage.blobStoreId(), null);
  });
}
