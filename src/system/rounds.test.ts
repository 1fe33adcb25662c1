/** Work that comes at once begins in the order in which it came, a few pieces in each round of the event loop. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as nextRound } from "node:timers/promises";
import { RoundQueue } from "./rounds.ts";

test("[R5] of ten that come at once three begin in each round, in their order, and one that comes alone waits for nothing", async () => {
  const queue = new RoundQueue(() => 3);
  const begun: number[] = [];
  for (let number = 0; number < 10; number += 1) void queue.start().then(() => begun.push(number));
  const seen: number[] = [];
  for (let round = 0; round < 5; round += 1) {
    await Promise.resolve();
    await Promise.resolve();
    seen.push(begun.length);
    await nextRound();
  }
  assert.deepEqual(seen, [3, 6, 9, 10, 10]);
  assert.deepEqual(
    begun,
    begun.toSorted((a, b) => a - b),
  );
  let isBegun = false;
  void queue.start().then(() => (isBegun = true));
  await Promise.resolve();
  assert.ok(isBegun);
});

test("[R5] those who wait begin before one that comes when more may begin in a round", async () => {
  let max = 1;
  const queue = new RoundQueue(() => max);
  const begun: string[] = [];
  const begins = (name: string): void => void queue.start().then(() => begun.push(name));
  for (const name of ["first", "second", "third"]) begins(name);
  max = 4;
  begins("last");
  for (let round = 0; round < 4; round += 1) await nextRound();
  assert.deepEqual(begun, ["first", "second", "third", "last"]);
});

test("[R5] those who go on come before those who start, so that little is half done", async () => {
  const queue = new RoundQueue(() => 1);
  const order: string[] = [];
  const work = async (name: string): Promise<void> => {
    await queue.start();
    order.push(`${name} starts`);
    await queue.goOn();
    order.push(`${name} ends`);
  };
  await Promise.all([work("a"), work("b"), work("c")]);
  assert.deepEqual(order, ["a starts", "a ends", "b starts", "b ends", "c starts", "c ends"]);
});
