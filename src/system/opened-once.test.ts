import assert from "node:assert/strict";
import { test } from "node:test";
import { OpenedOnce } from "./opened-once.ts";

test("[R5] what was opened is the same for all callers, also for those that ask while it is being opened", async () => {
  let times = 0;
  const part = new OpenedOnce(async () => (times += 1));
  assert.equal(await part.ifOpen(), null);
  assert.deepEqual(await Promise.all([part.open(), part.open()]), [1, 1]);
  assert.deepEqual([await part.open(), await part.ifOpen()], [1, 1]);
});

test("[R5] a failure is the answer of all who wait for it, and the next caller tries again", async () => {
  let times = 0;
  const part = new OpenedOnce(async () => {
    times += 1;
    if (times === 1) throw new Error("away");
    return times;
  });
  const waiting = [part.open(), part.open()];
  const found = part.ifOpen();
  for (const one of waiting) await assert.rejects(one, /away/);
  assert.deepEqual([await found, times], [null, 1]);
  assert.equal(await part.open(), 2);
});
