import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { setImmediate as nextRound } from "node:timers/promises";
import { ArrivingAnswer, endsPassed, mayGoOn, mayStart } from "./pacing.ts";

/** Lets eight turns begin at once, and returns how many have begun after each of the first rounds. */
async function begunAfterRounds(rounds: number): Promise<number[]> {
  let begun = 0;
  for (let turn = 0; turn < 8; turn += 1) void mayStart().then(() => (begun += 1));
  const seen: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    await Promise.resolve();
    await Promise.resolve();
    seen.push(begun);
    await nextRound();
  }
  for (let round = 0; round < 9; round += 1) await nextRound();
  assert.equal(begun, 8);
  return seen;
}

/** Returns an answer of which a piece came so many milliseconds after its first one. */
function answerAfter(context: TestContext, ms: number): ArrivingAnswer {
  let now = performance.now();
  const clock = context.mock.method(performance, "now", () => now);
  const answer = new ArrivingAnswer();
  answer.arrived();
  now += ms;
  answer.arrived();
  answer.arrived();
  clock.mock.restore();
  return answer;
}

test("[R5] beside an answer that streams one turn begins in a round, else four", async (t) => {
  assert.deepEqual(await begunAfterRounds(2), [4, 8]);
  const streams = [answerAfter(t, 20), answerAfter(t, 20)];
  assert.deepEqual(await begunAfterRounds(3), [1, 2, 3]);
  streams[0]?.ended();
  assert.deepEqual(await begunAfterRounds(3), [1, 2, 3]);
  streams[1]?.ended();
  assert.deepEqual(await begunAfterRounds(2), [4, 8]);
});

test("[R5] beside an answer that streams the parts of all turns share the rounds, else no part waits", async (t) => {
  const order: string[] = [];
  const turn = async (name: string): Promise<void> => {
    await mayStart();
    order.push(`${name} begins`);
    await mayGoOn();
    order.push(`${name} goes on`);
  };
  const both = async (): Promise<string[]> => {
    order.length = 0;
    const turns = Promise.all([turn("a"), turn("b")]);
    await Promise.resolve();
    const perRound: string[] = [];
    for (let round = 0; round < 6; round += 1) {
      for (let microtask = 0; microtask < 4; microtask += 1) await Promise.resolve();
      perRound.push(order.splice(0).join(", "));
      await nextRound();
    }
    await turns;
    return perRound.filter((seen) => seen !== "");
  };
  assert.deepEqual(await both(), ["a begins, b begins, a goes on, b goes on"]);
  const stream = answerAfter(t, 20);
  assert.deepEqual(await both(), ["a begins", "a goes on", "b begins", "b goes on"]);
  stream.ended();
  assert.deepEqual(await both(), ["a begins, b begins, a goes on, b goes on"]);
});

test("[R5] an answer that comes at once is no stream", async (t) => {
  const answer = answerAfter(t, 2);
  assert.deepEqual(await begunAfterRounds(2), [4, 8]);
  answer.ended();
  assert.deepEqual(await begunAfterRounds(2), [4, 8]);
});

test("[R5] what follows the ends of turns waits until none waits for its end, and for eight rounds at most", async () => {
  const after = async (turns: number): Promise<number> => {
    for (let turn = 0; turn < turns; turn += 1) void mayStart();
    const passed: true[] = [];
    void endsPassed().then(() => passed.push(true));
    let rounds = 0;
    for (; passed.length === 0; rounds += 1) await nextRound();
    return rounds;
  };
  assert.ok((await after(4)) <= 1);
  const few = await after(4 * 4);
  assert.ok(few >= 3 && few <= 5, `${few} rounds`);
  const many = await after(4 * 40);
  assert.ok(many >= 8 && many <= 10, `${many} rounds`);
  for (let round = 0; round < 40; round += 1) await nextRound();
});
