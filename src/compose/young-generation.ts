/**
 * How much memory V8 takes for young objects. `bin/aptove` starts a server with little of it. Beside many turns V8 may take more: what
 * belongs to running turns would otherwise move to the old generation, whose garbage costs several times as much to collect (decision 0054).
 */
import { setFlagsFromString } from "node:v8";
import type { Observer } from "../telemetry/observer.ts";

/** V8 multiplies the young generation by this at each growth, up to the largest size. 1: it does not grow. */
type SetGrowthFactor = (factor: 1 | 4) => void;

export interface YoungGenerationOptions {
  /** The arguments of Node. Default: those of this process. */
  nodeArguments?: readonly string[];
  /** The command and its arguments. Default: those of this process. */
  words?: readonly string[];
  setGrowthFactor?: SetGrowthFactor;
  /** Returns milliseconds of a clock that never jumps. */
  now?: () => number;
}

/** The commands for which bin/run.cjs stops the growth at the start. */
const servers: readonly string[] = ["acp", "serve", "start"];
/** So many turns at once are many. */
const runningTurnsMin = 8;
/** So many turns that began within a window are many too, if they follow one another. */
const turnsOfWindowMin = 50;
const windowMs = 10_000;

/**
 * Returns an observer that lets the young generation grow beside many turns. V8 makes it smaller by itself when the program allocates
 * little. It observes nothing in a process that `bin/aptove` did not start as a server.
 */
export function youngGenerationGrowth({
  nodeArguments = process.execArgv,
  words = process.argv.slice(2),
  setGrowthFactor = (factor) => setFlagsFromString(`--semi-space-growth-factor=${factor}`),
  now = () => performance.now(),
}: YoungGenerationOptions = {}): Partial<Observer> {
  const isSized = nodeArguments.some((argument) => argument.startsWith("--max-semi-space-size="));
  if (!isSized || !words.some((word) => servers.includes(word))) return {};
  let running = 0;
  let window = { begunAt: 0, turns: 0 };
  let mayGrow = false;
  const decide = (isNewWindow = false): void => {
    const isBusy = running >= runningTurnsMin || window.turns >= turnsOfWindowMin;
    // bin/run.cjs stops the growth once, when it keeps the compiled code. So it is allowed again in each window.
    if (isBusy === mayGrow && !(isBusy && isNewWindow)) return;
    mayGrow = isBusy;
    setGrowthFactor(mayGrow ? 4 : 1);
  };
  setGrowthFactor(1);
  return {
    turn: () => {
      const at = now();
      const isNewWindow = at - window.begunAt >= windowMs;
      if (isNewWindow) window = { begunAt: at, turns: 0 };
      window.turns += 1;
      running += 1;
      decide(isNewWindow);
      return {
        within: (work) => work(),
        end: () => {
          running -= 1;
          decide();
        },
      };
    },
  };
}
