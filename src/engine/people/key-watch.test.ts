import assert from "node:assert/strict";
import { test } from "node:test";
import { testParts } from "../../../testing/engine.ts";
import { AptoveError } from "../../domain/errors.ts";
import { memoryRecords } from "../../records/memory/memory-records.ts";
import { KeyWatch } from "./key-watch.ts";

test("[H4] an unreachable store is reported once, until it works again, and ends no connection", async (t) => {
  const reports: string[] = [];
  const records = memoryRecords();
  let isAway = true;
  records.keys.find = async () => {
    if (isAway) throw new AptoveError("storage_failed", "the database is away");
    return [];
  };
  const watch = new KeyWatch(testParts({ records, report: (message) => void reports.push(message) }));
  t.after(() => watch.close());
  watch.add("secret", { role: "member", onEnd: () => assert.fail("it ended") });
  for (let n = 0; n < 3; n += 1) await watch.look();
  assert.equal(reports.length, 1);
  isAway = false;
  await watch.look();
  isAway = true;
  await watch.look();
  assert.equal(reports.length, 2);
});
