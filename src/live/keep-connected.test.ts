import assert from "node:assert/strict";
import { test } from "node:test";
import { keepConnected } from "./keep-connected.ts";

test("[R3] a connection is opened again whenever it breaks or cannot be opened, until the process stops", async () => {
  const stopping = new AbortController();
  const faults: string[] = [];
  const opens = [
    async () => Promise.reject(new RangeError("away")),
    async (opened: () => void) => (opened(), Promise.reject(new RangeError("broke"))),
    async (opened: () => void) => opened(),
    async () => {
      stopping.abort();
      throw new RangeError("the end is no fault");
    },
  ];
  let attempts = 0;
  await keepConnected(
    {
      connect: async (opened) => await opens[attempts++]?.(opened),
      failed: (error) => faults.push(String(error)),
    },
    stopping.signal,
  );
  assert.equal(attempts, 4);
  assert.deepEqual(faults, ["RangeError: away", "RangeError: broke"]);
});

test("[R3] nothing is opened after the process has stopped", async () => {
  await keepConnected(
    { connect: () => assert.fail("opened"), failed: () => assert.fail("failed") },
    AbortSignal.abort(),
  );
});
