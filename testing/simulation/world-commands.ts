/** Commands that move the world: calls, gates, time, garbage, and everything that goes wrong outside of the engine. */
import assert from "node:assert/strict";
import { limits } from "../../src/domain/limits.ts";
import { alice } from "../engine.ts";
import { follow, servingProcess, type CommandMaker } from "./command.ts";
import { healthProbes } from "../../src/engine/turn/kept/turn-blobs.ts";
import { checkAtRest, unreachableBlobs } from "./invariants.ts";
import { later, type Process } from "./process.ts";
import { storedPendingTurns } from "./stored-rows.ts";

/** Sends nothing new, and lets running work continue for a while. */
export const letRun: CommandMaker = (world) => {
  const count = world.random.weighted([
    [4, 3],
    [3, 15],
    [2, 60],
  ]);
  return { text: `${count} things happen`, run: () => world.run(count) };
};

export const openGate: CommandMaker = (world) => ({
  text: "a waiting call continues",
  run: () => void world.gates.openOne(world.random),
});

export const passTime: CommandMaker = (world) => {
  const ms = world.random.pick([10, 100, 500, 5_000]) ?? 0;
  return { text: `${ms} ms pass`, run: () => world.pass(ms) };
};

/** Sends nothing new until all is done; then everything is checked. */
export const rest: CommandMaker = (world) => {
  const isThorough = world.random.chance(0.2);
  return {
    text: "rest",
    run: async () => {
      await world.comeToRest();
      await checkAtRest(world, { isThorough });
    },
  };
};

/** A time at which all blobs are old enough. */
async function collect(process: Process, dryRun: boolean): Promise<string[]> {
  const { engine } = process;
  const collecting = async (): Promise<string[]> =>
    (await engine?.tree.collectGarbage(alice, { dryRun, isMostExpected: true }))?.keys ?? [];
  return await later(2 * limits.garbageAgeMs, collecting);
}

/** Collects garbage: exactly what nothing names, first as a dry run and then really (K4). */
export const collectAtRest: CommandMaker = (world) => ({
  text: "rest, and collect garbage",
  run: async () => {
    await world.comeToRest();
    await checkAtRest(world, { isThorough: false });
    const process = world.random.pick(world.open);
    if (process === undefined) return;
    const expected = await unreachableBlobs(world);
    for (const dryRun of [true, false]) {
      const collecting = collect(process, dryRun);
      world.follow({ what: "collecting garbage", process, isStopped: () => true }, collecting);
      await world.comeToRest();
      // The health check writes its own blobs meanwhile, and leaves them where the stores fail.
      const collected = (await collecting).filter((key) => !key.startsWith(healthProbes));
      assert.deepEqual(collected, expected, "what is collected is exactly what nothing needs (K4)");
    }
    assert.deepEqual(await unreachableBlobs(world), []);
    await checkAtRest(world, { isThorough: true });
  },
});

/** Turns that run for so long that their blobs are old; none is just being opened. */
export const collectMeanwhile: CommandMaker = (world) => {
  const here = servingProcess(world);
  if (here === null || world.isOpening || here.process.isAsleep || here.process.trouble !== null) return null;
  return {
    text: `collect garbage in ${here.process.name}, while turns run`,
    run: async () => {
      const progress = { isDone: false };
      const call = collect(here.process, false).finally(() => (progress.isDone = true));
      follow(world, here.process, { what: "collecting garbage", call, mayRefuse: () => false });
      while (!progress.isDone && (await world.calls.letOneThrough(world.random)));
    },
  };
};

export const startAnother: CommandMaker = (world) => {
  if (world.open.length >= 2) return null;
  return { text: "another process starts", run: async () => void (await world.startProcess()) };
};

/** Kills a process between any two store calls. A call that it waited for may or may not take effect. */
export const crash: CommandMaker = (world) => {
  const process = world.random.pick(world.processes.filter(({ isDead, isGone }) => !isDead && !isGone));
  const comesBack = world.random.chance(0.8);
  if (process === undefined) return null;
  return {
    text: `${process.name} is killed${comesBack ? ", another one starts" : ""}`,
    run: async () => {
      await world.kill(process);
      if (comesBack) await world.startProcess();
    },
  };
};

/** Shuts a process down (R4). */
export const close: CommandMaker = (world) => {
  const here = servingProcess(world);
  const graceMs = world.random.pick([0, 1_000]) ?? 0;
  if (here === null) return null;
  const { process, engine } = here;
  return {
    text: `${process.name} is asked to end`,
    run: () => {
      process.isClosing = true;
      const closing = async (): Promise<void> => {
        try {
          await engine.close({ graceMs });
          const left = (await storedPendingTurns(world.stores)).filter(
            ({ runnerId }) => runnerId === process.runner.id,
          );
          assert.ok(left.length === 0 || process.hadTrouble, `${process.name} ended and left turns pending (R4)`);
        } finally {
          process.isGone = true;
        }
      };
      follow(world, process, { what: `the end of ${process.name}`, call: closing(), mayRefuse: () => false });
    },
  };
};

/** Makes store calls fail, like a full or broken disk. A failed call may still take effect. */
export const trouble: CommandMaker = (world) => {
  const here = servingProcess(world);
  if (here === null) return null;
  const { random } = world;
  const { process } = here;
  return {
    text: `the stores of ${process.name} fail`,
    run: () => {
      process.hadTrouble = true;
      process.trouble = {
        skips: random.below(25),
        left: random.below(8) + 1,
        code: random.chance(0.5) ? "storage_full" : "storage_failed",
        isAfterwards: random.chance(0.3),
        isOfWrites: random.chance(0.7),
      };
    },
  };
};

/** Puts a process to sleep, like a closed laptop: its calls wait, its leases expire, others fail its turns as lost (R1). */
export const fallAsleep: CommandMaker = (world) => {
  const here = servingProcess(world);
  if (here === null || world.open.length < 2) return null;
  return {
    text: `${here.process.name} sleeps for longer than its lease`,
    run: async () => {
      here.process.isAsleep = true;
      for (let past = 0; past <= limits.leaseMs; past += limits.leaseRenewMs) {
        await world.run(15);
        await world.pass(limits.leaseRenewMs);
      }
    },
  };
};

export const wakeUp: CommandMaker = (world) => {
  const process = world.processes.find(({ isAsleep }) => isAsleep);
  if (process === undefined) return null;
  return { text: `${process.name} wakes up`, run: () => void (process.isAsleep = false) };
};

/** Makes a provider forget its responses (C3). */
export const forget: CommandMaker = (world) => ({
  text: "a provider forgets all responses",
  run: () => {
    for (const actor of world.actors) actor.forget();
  },
});
