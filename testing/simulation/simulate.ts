/**
 * A simulation: random commands against real engines, step by step, each followed by a check of the invariants. The
 * same seed gives the same commands and the same order of everything that they cause.
 */
import { mock } from "node:test";
import { nextCommand } from "./commands.ts";
import { checkAtRest, checkStep } from "./invariants.ts";
import { seededRandom } from "./random.ts";
import { settled } from "./store-calls.ts";
import type { StoreKind } from "./stores.ts";
import { World } from "./world.ts";

export interface SimulationOptions {
  seed: number;
  steps: number;
  stores: StoreKind;
  /** Called after each world with the steps so far. */
  onProgress?: (steps: number) => void;
}

export interface SimulationReport {
  steps: number;
  worlds: number;
  turns: number;
  storeCalls: number;
}

/** The steps of one world. A world gets slower as it fills, so then the next one begins, with another seed. */
const stepsPerWorld = 150;
/** The number of last commands in the report of a failed world. */
const commandsToTell = 30;

/** Throws at the first violation, with the command that reproduces it. */
export async function simulate({ seed, steps, stores, onProgress }: SimulationOptions): Promise<SimulationReport> {
  const report: SimulationReport = { steps: 0, worlds: 0, turns: 0, storeCalls: 0 };
  let worldSeed = seed;
  while (report.steps < steps) {
    await runWorld({ seed: worldSeed, steps: Math.min(stepsPerWorld, steps - report.steps), stores, report });
    worldSeed = seededRandom(worldSeed).below(2 ** 31);
    onProgress?.(report.steps);
  }
  return report;
}

interface WorldRun {
  seed: number;
  steps: number;
  stores: StoreKind;
  report: SimulationReport;
}

async function runWorld({ seed, steps, stores, report }: WorldRun): Promise<void> {
  mock.timers.enable({ apis: ["setInterval", "setTimeout"] });
  const commands: string[] = [];
  let world: World | null = null;
  try {
    world = await World.make(seed, stores);
    await world.startProcess();
    for (let step = 1; step <= steps; step += 1) {
      const { text, run } = nextCommand(world);
      commands.push(`${step}. ${text}`);
      await run();
      await settled();
      await checkStep(world, world.model.sessions.keys());
      report.steps += 1;
    }
    await world.comeToRest();
    await checkAtRest(world, { isThorough: true });
    report.worlds += 1;
    report.turns += world.model.turns.size;
    report.storeCalls += world.calls.performed;
  } catch (error) {
    const again = `npm run simulate -- --seed ${seed} --steps ${commands.length} --stores ${stores}`;
    const trace = commands.slice(-commandsToTell).join("\n  ");
    throw new Error(`seed ${seed}, step ${commands.length}: ${String(error)}\nto reproduce it: ${again}\n  ${trace}`, {
      cause: error,
    });
  } finally {
    mock.timers.reset();
    await world?.end();
  }
}
