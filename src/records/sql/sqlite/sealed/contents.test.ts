/** What a process keeps of contents in memory. */
import assert from "node:assert/strict";
import { test } from "node:test";
import Database from "better-sqlite3";
import { Contents } from "./contents.ts";

test("[K6] a short content that is kept does not keep the block of memory that it shared with others", async (t) => {
  const database = new Database(":memory:");
  t.after(() => database.close());
  const contents = new Contents(database);
  const shared = Buffer.from("a row of a turn");
  assert.ok(shared.buffer.byteLength > shared.length, "Node gives short buffers a part of a block");
  contents.remember("turn", { id: 1, row: { bytes: shared, short: shared.subarray(2), values: [] }, entry: shared });
  const { bytes, short } = contents.rowPart(1);
  const entry = await contents.entryOf("turn");
  const kept = [bytes, short, entry?.bytes ?? assert.fail("the entry is not kept")];
  for (const one of kept) assert.equal(one.buffer.byteLength, one.length);
  assert.deepEqual(kept.map(String), ["a row of a turn", "row of a turn", "a row of a turn"]);
});
