/** What a store must do with the id of its blob store. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { newId } from "../../domain/ids.ts";
import {
  completedSample,
  draftOf,
  finishSampleTurn,
  openingOf,
  openSampleTurn,
  readSession,
  openTwice,
  runSampleTurn,
  startSession,
  type OpenRecordsForTest,
} from "./samples.ts";

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

  test("[B7] the room of a turn counts its row and its texts, and unknown turns take none", async (context) => {
    const { store } = await open(context);
    const session = await startSession(store);
    const short = await runSampleTurn(store, session.id);
    const long = completedSample(await openSampleTurn(store, openingOf(draftOf(await readSession(store, session.id)))));
    await finishSampleTurn(store, long, { text: { instruction: "how long? ".repeat(200), answer: "ä".repeat(500) } });
    const room = await store.storage.turnRoom([long.id, newId(), short.id]);
    assert.deepEqual(room.map(({ turnId }) => turnId).toSorted(), [short.id, long.id].toSorted());
    const of = (id: string) => room.find(({ turnId }) => turnId === id) ?? assert.fail();
    assert.ok(of(short.id).row > 0 && of(long.id).row > 0);
    assert.ok(of(long.id).texts >= 3_000 && of(long.id).texts > of(short.id).texts);
    assert.deepEqual(await store.storage.turnRoom([]), []);
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
