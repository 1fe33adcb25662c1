/** Notes of other processes that are taken while a turn comes to its end (V4, R3). */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { TurnControl } from "../../../records/runners.ts";
import { followControls, takeSteers } from "./control.ts";
import type { EngineCore } from "./engine-core.ts";
import { SteerQueue } from "./steer-queue.ts";

test("[V4] [R3] a message that another look has read and not yet handed over is still in time for the turn's last step", async () => {
  const control: TurnControl = { id: "c", turnId: "t", kind: "steer", text: "and be quick", userId: "u", at: 1 };
  const taken = Promise.withResolvers<TurnControl[]>();
  const answers = [taken.promise, Promise.resolve([])];
  const live = { steers: new SteerQueue() };
  const core = {
    deps: {
      records: { runners: { listControls: () => answers.shift(), deleteControls: async () => undefined } },
      runner: { id: "r" },
    },
    live: { get: () => live },
  } as unknown as EngineCore;
  const regular = followControls(core);
  const last = takeSteers(core, live as never, { isLast: true });
  // The last step has looked for itself by now, and found nothing.
  await new Promise((resolve) => setImmediate(resolve));
  taken.resolve([control]);
  assert.deepEqual(
    (await last).map(({ text }) => text),
    ["and be quick"],
  );
  await regular;
});

test("[V4] [R3] a message to a turn that takes no more stays until its end records it, and is recorded once if it cannot be deleted", async () => {
  const control: TurnControl = { id: "c", turnId: "t", kind: "steer", text: "and be quick", userId: "u", at: 1 };
  const live = { steers: new SteerQueue() };
  live.steers.close();
  const deleted: string[] = [];
  let fails = true;
  const runners = {
    listControls: async () => [control],
    deleteControls: async (ids: string[]) => {
      if (fails) throw new Error("no answer");
      deleted.push(...ids);
    },
  };
  const core = {
    deps: { records: { runners }, runner: { id: "r" } },
    live: { get: () => live },
  } as unknown as EngineCore;
  await followControls(core);
  assert.deepEqual(live.steers.close(), []);
  await assert.rejects(followControls(core, live as never), /no answer/);
  fails = false;
  await followControls(core, live as never);
  assert.deepEqual(live.steers.close(), [{ text: "and be quick" }]);
  assert.deepEqual(deleted, ["c"]);
});
