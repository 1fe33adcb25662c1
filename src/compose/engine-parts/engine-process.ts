/** The process that an engine runs in: its identity, its clocks and its timers. */
import type { EngineProcess } from "../../engine/dependencies.ts";
import { pause } from "../../system/abort.ts";
import { isAlive, monotonic, thisRunner } from "../this-runner.ts";

export interface ProcessSetup {
  /** The database of this machine that has the records. Null if they are elsewhere. */
  recordsFile: string | null;
  recordsAreEmbedded: boolean;
  version: string;
  now(): number;
}

export function engineProcess({ recordsFile, ...setup }: ProcessSetup): EngineProcess {
  return {
    ...setup,
    runner: thisRunner(recordsFile),
    isAlive,
    monotonic,
    random: Math.random,
    sleep: pause,
    deadline: (ms) => AbortSignal.timeout(ms),
  };
}
