import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { test } from "node:test";
import { hasCode } from "../../testing/refusals.ts";
import { temporaryFolder } from "../../testing/temporary-folder.ts";
import { memoryBlobs } from "../blobs/memory/memory-blobs.ts";
import type { BlobStore } from "../blobs/blob-store.ts";
import { dataFolderAt } from "../configuration/data-folder.ts";
import { AptoveError } from "../domain/errors.ts";
import { newId } from "../domain/ids.ts";
import { memoryRecords } from "../records/memory/memory-records.ts";
import type { RecordStore } from "../records/record-store.ts";
import { runSampleTurn, startSession } from "../records/suite/samples.ts";
import { blobStoreIdKey, checkBlobsMatchRecords, checkDatabaseExists } from "./blobs-match-records.ts";

/** Returns the reports. Rejects as the check does. */
async function check(records: RecordStore, blobs: BlobStore): Promise<string[]> {
  const reports: string[] = [];
  await checkBlobsMatchRecords({ records, blobs, report: (message) => void reports.push(message) });
  return reports;
}

const isForeign = hasCode("blobs_foreign", /share one folder.*blobs\.url/);

async function copied(from: BlobStore): Promise<BlobStore> {
  const to = memoryBlobs();
  for (const key of await from.list("")) await to.put(key, (await from.get(key)) ?? assert.fail(key));
  return to;
}

test("[B4] a server with its own blobs on shared records is refused, and nothing is written into these blobs", async () => {
  const records = memoryRecords();
  const [shared, empty, other] = [memoryBlobs(), memoryBlobs(), memoryBlobs()];
  for (let n = 0; n < 2; n += 1) assert.deepEqual(await check(records, shared), []);
  await check(memoryRecords(), other);
  for (const blobs of [empty, other]) await assert.rejects(check(records, blobs), isForeign);
  assert.deepEqual(await empty.list(""), []);
});

test("[B4] of servers that start at once, those on the same blobs start, and of two on blobs of their own one does", async () => {
  const records = memoryRecords();
  const shared = memoryBlobs();
  const memory = memoryRecords();
  await Promise.all([1, 2, 3].map(() => check(records, shared)));
  const begun = await Promise.allSettled([memoryBlobs(), memoryBlobs()].map((own) => check(memory, own)));
  assert.deepEqual(begun.map(({ status }) => status).toSorted(), ["fulfilled", "rejected"]);
});

test("[B4] copies and restores of both start, and so do new records on blobs that have an id", async () => {
  const [records, blobs] = [memoryRecords(), memoryBlobs()];
  await check(records, blobs);
  await check(records, await copied(blobs));
  const fresh = memoryRecords();
  await check(fresh, await copied(blobs));
  assert.equal(await fresh.storage.blobStoreId(), await records.storage.blobStoreId());
});

test("[B4] [K4] records without any turn are refused on blobs that have turns, with or without an id, and change nothing", async () => {
  const [blobs, unnamed] = [memoryBlobs(), memoryBlobs()];
  await check(memoryRecords(), blobs);
  for (const store of [blobs, unnamed]) {
    await store.put(`turns/${newId()}/opening.json`, Buffer.from("{}"));
    const before = await store.list("");
    const empty = memoryRecords();
    await assert.rejects(check(empty, store), hasCode("records_lost", /1 turns.*aptove restore/));
    assert.deepEqual(await store.list(""), before);
    assert.equal(await empty.storage.blobStoreId(), null);
  }
  // Records of a version before the id existed have turns, and take the blobs as theirs.
  const older = memoryRecords();
  await runSampleTurn(older, (await startSession(older)).id);
  assert.deepEqual(await check(older, unnamed), []);
});

test("[B4] blobs that do not answer, or have no readable id, are reported; the server starts", async () => {
  const blobs = memoryBlobs();
  const down = { ...blobs, get: () => Promise.reject(new AptoveError("storage_failed", "no answer")) };
  assert.equal((await check(memoryRecords(), down)).length, 1);
  await blobs.put(blobStoreIdKey, Buffer.from("{}"));
  assert.equal((await check(memoryRecords(), blobs)).length, 1);
});

test("[B2] [B4] blobs whose id a newer version wrote are refused", async () => {
  const blobs = memoryBlobs();
  await blobs.put(blobStoreIdKey, Buffer.from('{"format":2,"name":"x"}'));
  await assert.rejects(check(memoryRecords(), blobs), { code: "data_newer" });
});

test("[B4] [L2] a folder of workspaces that cannot be read is named", async (t) => {
  const folder = dataFolderAt(await temporaryFolder(t));
  writeFileSync(folder.workspaces, "");
  assert.throws(() => checkDatabaseExists(folder), hasCode("storage_failed", /workspaces could not be read.*ENOTDIR/));
});
