/** The commands of a simulation, with their weights. */
import type { Command, CommandMaker } from "./command.ts";
import { createSession, interrupt, intrude, look, mark, moveHead, steer } from "./session-commands.ts";
import { feedback, fork, goOn, rerun, root, sameAgain } from "./turn-commands.ts";
import * as worldly from "./world-commands.ts";
import type { World } from "./world.ts";

const weights: readonly (readonly [number, CommandMaker])[] = [
  [5, root],
  [20, goOn],
  [5, fork],
  [5, rerun],
  [8, feedback],
  [3, sameAgain],
  [2, createSession],
  [6, interrupt],
  [5, steer],
  [4, moveHead],
  [5, mark],
  [4, look],
  [1, intrude],
  [16, worldly.letRun],
  [8, worldly.openGate],
  [5, worldly.passTime],
  [7, worldly.rest],
  [1, worldly.collectAtRest],
  [1, worldly.collectMeanwhile],
  [1, worldly.startAnother],
  [2, worldly.crash],
  [1, worldly.close],
  [2, worldly.trouble],
  [1, worldly.fallAsleep],
  [1, worldly.wakeUp],
  [2, worldly.forget],
];

/** Returns the next command for this world. In some worlds few sessions get long, in others many stay short. */
export function nextCommand(world: World): Command {
  for (;;) {
    const isMore = world.hasLongSessions && world.random.chance(0.4);
    const command = (isMore ? goOn : world.random.weighted(weights))(world);
    if (command !== null) return command;
  }
}
