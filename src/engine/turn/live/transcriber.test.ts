import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate } from "node:timers/promises";
import type { TranscribedTurn } from "../../../domain/transcript.ts";
import { whenAborted } from "../../../system/abort.ts";
import { endOfTick } from "../../../system/rounds.ts";
import type { EngineDependencies } from "../../dependencies.ts";
import { Transcriber } from "./transcriber.ts";

const workspaceId = "default";
// The fakes do not read the turn.
const turn = {} as TranscribedTurn;

/** Returns a transcriber whose workspace counts its syncs. Each sync lasts until another turn is written, `busy` times. */
function counted(busy: number): { transcriber: Transcriber; counts: { pauses: number; syncs: number } } {
  const counts = { pauses: 0, syncs: 0 };
  const workspaces = {
    turnsFinished: async () => {},
    settle: async () => {
      counts.syncs += 1;
      if (counts.syncs <= busy) transcriber.add(workspaceId, turn);
    },
  };
  const sleep = async (_ms: number, signal?: AbortSignal): Promise<void> => {
    if (signal?.aborted !== true) counts.pauses += 1;
    await setImmediate();
  };
  const transcriber: Transcriber = new Transcriber({ workspaces, sleep } as unknown as EngineDependencies);
  return { transcriber, counts };
}

test("[K5] [W5] a turn that ends during the sync of its transcript waits for a pause, so turns share their syncs", async () => {
  const { transcriber, counts } = counted(3);
  transcriber.add(workspaceId, turn);
  while (counts.syncs < 4) await setImmediate();
  assert.deepEqual(counts, { pauses: 4, syncs: 4 });
});

test("[W4] a turn is written after what is sent of its end in the same round", async () => {
  const done: string[] = [];
  const workspaces = { turnsFinished: async () => void done.push("written"), settle: async () => {} };
  const sleep = (_ms: number, signal: AbortSignal): Promise<void> => whenAborted(signal);
  const transcriber = new Transcriber({ workspaces, sleep } as unknown as EngineDependencies);
  transcriber.add(workspaceId, turn);
  // A door takes the end in ticks and promises, and sends it there.
  void Promise.resolve()
    .then(endOfTick)
    .then(endOfTick)
    .then(() => done.push("sent"));
  await transcriber.written(workspaceId);
  assert.deepEqual(done, ["sent", "written"]);
});

test("[W4] [R5] turns that end while another one is written are written together after it", async () => {
  const written: number[] = [];
  const held = Promise.withResolvers<void>();
  const workspaces = {
    turnsFinished: async (_id: string, turns: readonly TranscribedTurn[]) => {
      written.push(turns.length);
      await held.promise;
    },
    settle: async () => {},
  };
  const sleep = (_ms: number, signal: AbortSignal): Promise<void> => whenAborted(signal);
  const transcriber = new Transcriber({ workspaces, sleep } as unknown as EngineDependencies);
  transcriber.add(workspaceId, turn);
  while (written.length === 0) await setImmediate();
  for (let more = 0; more < 3; more += 1) transcriber.add(workspaceId, turn);
  held.resolve();
  await transcriber.written(workspaceId);
  assert.deepEqual(written, [1, 3]);
});

test("[W5] a caller that needs the transcript skips every pause", async () => {
  const { transcriber, counts } = counted(3);
  transcriber.add(workspaceId, turn);
  const before = counts.pauses;
  await transcriber.written(workspaceId);
  assert.deepEqual({ ...counts, pauses: counts.pauses - before }, { pauses: 0, syncs: 4 });
});
