/** What a store must do with the id of its blob store. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { openTwice, type OpenRecordsForTest } from "./samples.ts";

/** The parts that these tests need. */
type Parts = "storage";

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
}
