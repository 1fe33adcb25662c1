/** The parts that all commands of a simulation share. */
import { AptoveError, type ErrorCode } from "../../src/domain/errors.ts";
import type { Engine } from "../../src/engine/engine.ts";
import type { NaiveSession } from "./naive-model.ts";
import type { Process } from "./process.ts";
import type { World } from "./world.ts";

export interface Command {
  /** A description for the report of a failed world. */
  text: string;
  run(): Promise<void> | void;
}

/** Makes a command, or returns null if it makes no sense in this world now. */
export type CommandMaker = (world: World) => Command | null;

/** Returns a random process that takes requests, with its engine. Null if there is none. */
export function servingProcess(world: World): { process: Process; engine: Engine } | null {
  const process = world.random.pick(world.open);
  return process?.engine == null ? null : { process, engine: process.engine };
}

/** Error codes that are caused by the state of a session, whatever the request. */
export function marksRefuse(code: ErrorCode, session: NaiveSession | undefined): boolean {
  if (code === "session_archived") return session?.wasArchived === true;
  if (code === "not_found") return session === undefined || session.wasRemoved;
  return false;
}

/** Returns true for error codes that are caused by the process. */
export function processRefuses(code: ErrorCode, { isClosing, hadTrouble }: Process): boolean {
  if (code === "shutting_down") return isClosing;
  return hadTrouble && (code === "storage_full" || code === "storage_failed");
}

/** Follows a call. It may be refused with these codes, or with those of its process; anything else breaks a rule. */
export function follow(
  world: World,
  process: Process,
  { what, call, mayRefuse }: { what: string; call: Promise<unknown>; mayRefuse(code: ErrorCode): boolean },
): void {
  const judged = call.catch((error: unknown) => {
    if (!(error instanceof AptoveError)) throw error;
    if (!mayRefuse(error.code) && !processRefuses(error.code, process))
      throw new Error(`${what} was refused with ${error.code}`, { cause: error });
  });
  world.follow({ what, process, isStopped: () => false }, judged);
}
