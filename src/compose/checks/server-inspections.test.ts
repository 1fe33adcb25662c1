/** What a server that runs on a data folder finds about itself (L1, E8). */
import assert from "node:assert/strict";
import { createServer } from "node:net";
import { once } from "node:events";
import { test } from "node:test";
import { all } from "../../../testing/engine.ts";
import { temporaryFolder } from "../../../testing/temporary-folder.ts";
import { createAptove } from "../../compose.ts";
import { memoryBlobs } from "../../blobs/memory/memory-blobs.ts";
import { AptoveError } from "../../domain/errors.ts";
import { fixes } from "../../domain/fixes.ts";
import { memoryRecords } from "../../records/memory/memory-records.ts";
import { sampleRepository } from "../../retrieval/sample-repository.ts";
import type { AptoveOptions } from "../options.ts";

async function inspected(t: Parameters<typeof temporaryFolder>[0], options: AptoveOptions = {}) {
  const aptove = await createAptove({ dataDir: await temporaryFolder(t), env: {}, writeLog: () => {}, ...options });
  t.after(() => aptove.engine.close());
  const owner = await aptove.engine.keys.owner();
  const look = async () => (await all(aptove.engine.inspect(owner))).filter(({ state }) => state !== "running");
  return { ...aptove, owner, look };
}

test("[L1] [U10] a new data folder is fine in all parts, and what there is to know is a note with its fix", async (t) => {
  const { look, engine, owner } = await inspected(t);
  const found = new Map((await look()).map((check) => [check.name, check]));
  assert.deepEqual([...found.keys()].toSorted(), [
    "blobs",
    "configuration",
    "data folder",
    "indexes",
    "live log",
    "node",
    "records",
    "turns",
    "workspaces",
  ]);
  const notes = [...found.values()].filter(({ state }) => state !== "ok").map(({ name, state }) => [name, state]);
  assert.deepEqual(notes.toSorted(), [
    ["configuration", "note"],
    ["indexes", "note"],
  ]);
  assert.match(found.get("records")?.detail ?? "", /^SQLite .*, data of version \d+/);
  const repository = sampleRepository({ "a.ts": "export function greet() {}\n" });
  t.after(() => repository.remove());
  repository.commit();
  await engine.indexes.index(owner, { root: repository.root, repo: "sample" });
  const indexOf = async () => (await look()).find(({ name }) => name === "indexes");
  assert.match((await indexOf())?.detail ?? "", /^sample: 1 file, 1 chunk, /);
  repository.commit();
  assert.match((await indexOf())?.detail ?? "", /made at another commit$/);
  repository.remove();
  assert.match((await indexOf())?.detail ?? "", /its folder is not on this machine/);
});

test("[L1] [E8] [U10] a provider that cannot be reached is named with its fix, and no answer has a secret", async (t) => {
  const secret = "sk-live-0123456789abcdef";
  const closed = createServer().listen(0, "127.0.0.1");
  await once(closed, "listening");
  const address = closed.address();
  const port = typeof address === "object" ? (address?.port ?? 0) : 0;
  closed.close();
  const blobs = memoryBlobs();
  blobs.get = () => Promise.reject(new Error(`403 for the key ${secret}`));
  const { look } = await inspected(t, {
    ...{ records: memoryRecords(), blobs },
    env: { OPENAI_API_KEY: secret },
    overrides: { providers: { openai: { base_url: `http://127.0.0.1:${port}/v1` } } },
  });
  const found = await look();
  const of = (name: string) => found.find((check) => check.name === name);
  assert.deepEqual(of("blobs")?.state, "failed");
  assert.equal(of("blobs")?.detail, "403 for the key ***");
  assert.equal(of("provider openai")?.state, "failed");
  assert.match(of("provider openai")?.detail ?? "", /cannot be reached at 127\.0\.0\.1:\d+: /);
  assert.equal(JSON.stringify(found).includes(secret), false);
});

test("[L1] [U10] records that can be read and not written are a fault", async (t) => {
  const records = memoryRecords();
  records.storage.probe = () => Promise.reject(new AptoveError("storage_full", "no room"));
  const { look } = await inspected(t, { records });
  const found = (await look()).find(({ name }) => name === "records");
  assert.equal(found?.state, "failed");
  assert.equal(found.fix, fixes.storage_full);
});
