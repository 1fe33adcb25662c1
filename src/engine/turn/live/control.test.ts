/** Notes of other processes that are taken while a turn comes to its end (V4, R3). */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { TurnControl } from "../../../records/runners.ts";
import { followControls, takeSteers } from "./control.ts";
import type { EngineCore } from "./engine-core.ts";
import { SteerQueue } from "./steer-queue.ts";

test("[V4] [R3] a message that another look has taken and not yet handed over is still in time for the turn's last step", async () => {
  const control: TurnControl = { id: "c", turnId: "t", kind: "steer", text: "and be quick", userId: "u", at: 1 };
  const taken = Promise.withResolvers<TurnControl[]>();
  const answers = [taken.promise, Promise.resolve([])];
  const live = { steers: new SteerQueue() };
  const core = {
    deps: { records: { runners: { takeControls: () => answers.shift() } }, runner: { id: "r" } },
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
