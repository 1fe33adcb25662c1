import assert from "node:assert/strict";
import { test } from "node:test";
import { alice, all, testEngine } from "../../../../testing/engine.ts";
import { joinDeltas, type TurnEvent } from "../../../domain/events.ts";
import { newId } from "../../../domain/ids.ts";
import { KeptRun, SharedRuns } from "./kept-run.ts";

const delta = (messageId: string, text: string): TurnEvent => ({ type: "text_delta", messageId, delta: text });
const events: TurnEvent[] = [
  { type: "step_started", step: 1 },
  delta("m1", "one "),
  delta("m1", "two"),
  delta("m2", "three"),
  { type: "text_ended", messageId: "m2" },
];

test("[V2] a run gives its events after every position, with their positions", () => {
  const run = new KeptRun(joinDeltas(events));
  const whole = events.map((event, index) => ({ seq: index + 1, event }));
  assert.equal(run.length, events.length);
  for (let seq = 0; seq <= events.length + 1; seq += 1) assert.deepEqual([...run.after(seq)], whole.slice(seq));
});

test("[R5] who reads a turn while another one does reads the same run, and a run that cannot be read is read again", async () => {
  const runs = new SharedRuns();
  const reads: string[] = [];
  const run = new KeptRun([]);
  const reading = (key: string) => async () => {
    reads.push(key);
    if (reads.length === 1) throw new RangeError("away");
    return run;
  };
  const together = await Promise.allSettled([runs.get("a", reading("a")), runs.get("a", reading("a"))]);
  assert.deepEqual(
    together.map(({ status }) => status),
    ["rejected", "rejected"],
  );
  assert.deepEqual(await Promise.all([runs.get("a", reading("a")), runs.get("a", reading("a"))]), [run, run]);
  assert.equal(await runs.get("a", reading("a")), run);
  await runs.get("b", reading("b"));
  assert.deepEqual(reads, ["a", "a", "b"]);
});

test("[R5] [V2] many who read an ended turn at once, at any pace, have its blob read once", async (t) => {
  const first = await testEngine(t, { script: () => [{ says: ["a ", "b ", "c"] }] });
  const turn = await first.start("go");
  await turn.finished;
  let reads = 0;
  const { blobs } = first.deps;
  const get: typeof blobs.get = async (key) => {
    if (key.includes("/run")) reads += 1;
    return await blobs.get(key);
  };
  const counted = new Proxy(blobs, { get: (target, key) => (key === "get" ? get : bound(target, key)) });
  const { engine } = await testEngine(t, {
    ...first.deps,
    blobs: counted,
    runner: { ...first.deps.runner, id: newId() },
  });
  const readers = await Promise.all(
    Array.from({ length: 20 }, () => engine.turns.events(alice, turn.turnId, { afterSeq: 0 })),
  );
  const [whole = [], ...others] = await Promise.all(readers.map(all));
  assert.ok(whole.length > 5);
  for (const other of others) assert.deepEqual(other, whole);
  assert.equal(reads, 1);
});

function bound(target: object, key: PropertyKey): unknown {
  const member: unknown = Reflect.get(target, key);
  return typeof member === "function" ? member.bind(target) : member;
}
