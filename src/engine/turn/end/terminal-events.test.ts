/** Every stored run has one terminal event, which is its last event, however the turn ended (T11). */
import assert from "node:assert/strict";
import { test } from "node:test";
import { testEngine, testRunner, type TestEngine } from "../../../../testing/engine.ts";
import { isTerminal, type SequencedEvent } from "../../../domain/events.ts";
import type { FinishedTurn } from "../../../domain/turn.ts";
import { unknownUsage } from "../../../domain/usage.ts";
import { AptoveError } from "../../../domain/errors.ts";
import { memoryBlobs } from "../../../blobs/memory/memory-blobs.ts";
import { memoryRecords } from "../../../records/memory/memory-records.ts";
import { keptEvents } from "../kept/kept-events.ts";

const tools = [{ name: "look", parameters: { type: "object" } }];

/** Ends with the word of the instruction. */
const script = (call: { items: readonly unknown[] }) => {
  const asked = JSON.stringify(call.items.at(-1));
  if (asked.includes("fail")) return [{ says: "some" }, { fails: "provider_rejected" as const }];
  if (asked.includes("park")) return [{ calls: "look", callId: "call_1", with: {} }];
  return asked.includes("hang") ? [{ says: ["some ", new Promise<void>(() => {}), "more"] }] : "done";
};

function checkOneEnd(events: readonly SequencedEvent[], how: string): void {
  const ends = events.filter(({ event }) => isTerminal(event)).map(({ seq }) => seq);
  assert.deepEqual(ends, [events.length], how);
}

async function checkStored({ deps }: TestEngine, turn: FinishedTurn): Promise<void> {
  checkOneEnd(await keptEvents(deps, turn), turn.status);
}

test("[T11] a completed, a parked, a failed and an interrupted turn are stored with one terminal event, the last", async (t) => {
  const world = await testEngine(t, { script });
  await checkStored(world, await world.ask("finish"));
  await checkStored(world, await world.ask("park", { tools }));
  await checkStored(world, await world.ask("fail"));
  const hanging = await world.start("hang");
  for await (const { event } of hanging.events()) if (event.type === "text_delta") break;
  await world.engine.turns.interrupt(world.caller, { turnId: hanging.turnId });
  await checkStored(world, await hanging.finished);
});

test("[T11] [R2] a turn whose process ended is stored with one terminal event, the last, and so is one that two processes recover", async (t) => {
  const gone = testRunner();
  const dead = await testEngine(t, { script, runner: gone });
  const hanging = await dead.start("hang");
  for await (const { event } of hanging.events()) if (event.type === "text_delta") break;
  const { records, blobs, log } = dead.deps;
  const isAlive = (runner: { id: string }): boolean => runner.id !== gone.id;
  const others = await Promise.all([1, 2].map(() => testEngine(t, { script, records, blobs, log, isAlive })));
  const [one = assert.fail()] = others;
  const turn = await records.turns.get(hanging.turnId);
  assert.equal(turn?.status, "failed");
  await checkStored(one, turn as FinishedTurn);
});

test("[T11] a turn whose output cannot be stored has one terminal event in its live log, the last", async (t) => {
  const blobs = memoryBlobs();
  const put = blobs.put.bind(blobs);
  blobs.put = async (key, bytes) => {
    if (key.endsWith("/run.json")) throw new AptoveError("storage_full", "no room");
    await put(key, bytes);
  };
  const { ask, deps } = await testEngine(t, { blobs, records: memoryRecords() });
  const turn = await ask("finish");
  assert.equal(turn.status, "failed");
  checkOneEnd((await deps.log.read(turn.id, 0)) ?? assert.fail(), "in the live log");
});

test("[T11] [T4] a driver that counts what are no tokens keeps no turn from its end, and what it used is unknown", async (t) => {
  const usage = { input: 1.5, output: 1e300, cached: 0, reasoning: 0, total: 1e300 };
  const world = await testEngine(t, { script: () => [{ says: "done" }, { stops: "stop", usage }] });
  const turn = await world.ask("count");
  assert.equal(turn.status, "completed");
  await checkStored(world, turn);
  const [step] = await world.deps.records.turns.listSteps(turn.id);
  assert.deepEqual([turn.run.usage, step?.usage], [unknownUsage, unknownUsage]);
});
