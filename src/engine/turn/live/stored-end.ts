/**
 * Reads from the store what a subscriber still needs of a turn that has ended, or why there may be no end to read (T11,
 * R1).
 */
import { AptoveError, type Failure } from "../../../domain/errors.ts";
import type { SequencedEvent } from "../../../domain/events.ts";
import { keptRun, terminalOf } from "../kept/kept-events.ts";
import type { KeptRun } from "../kept/kept-run.ts";
import type { StoredTurn } from "../kept/turn-order.ts";
import type { EngineCore } from "./engine-core.ts";

export interface SubscriberPosition {
  /** The position of the last event that the subscriber has. 0 for none. */
  seq: number;
  /** True if the subscriber received events from the live log, and no end. */
  hasLiveEvents: boolean;
  /** True if the turn ran here when the live log was read. */
  runsHere: boolean;
}

/**
 * Returns the remaining events of a turn that has ended, or null if it runs. Throws the reason if its end could not be
 * written.
 */
export async function storedEnd(
  core: EngineCore,
  turnId: string,
  position: SubscriberPosition,
): Promise<Iterable<SequencedEvent> | null> {
  const turn = await core.deps.records.turns.get(turnId);
  if (turn === null) throw new AptoveError("not_found", `there is no turn "${turnId}"`);
  if (turn.status !== "pending") return restOf(position, turn, await runOf(core, turn));
  const reason = position.runsHere ? undefined : core.unsettled.get(turnId);
  if (reason !== undefined) throw endUnwritten(turnId, reason);
  return null;
}

/** Returns the run of a turn that has ended. */
export async function runOf({ deps, remembered }: EngineCore, turn: StoredTurn): Promise<KeptRun> {
  const { run: key } = turn.blobs;
  return key === null ? await keptRun(deps, turn) : await remembered.runs.get(key, () => keptRun(deps, turn));
}

/**
 * Yields the remaining events. A runner that lost its lease may have shown more events than are stored: its subscribers
 * receive the end too (R1).
 */
function* restOf(
  { seq, hasLiveEvents }: SubscriberPosition,
  turn: StoredTurn,
  run: KeptRun,
): Generator<SequencedEvent> {
  yield* run.after(seq);
  if (run.length <= seq && hasLiveEvents) yield { seq: seq + 1, event: terminalOf(turn) };
}

/**
 * Returns the error of a process that lost the turn; another process ends it (R1). A subscriber that resumes, here or
 * at another server, receives the rest of the stored events (V2).
 */
export function leaseLost(turnId: string): AptoveError {
  return new AptoveError("runner_lost", `this process has lost turn ${turnId}; follow it again from the last event`);
}

/**
 * Returns the error of a turn whose end could not be written anywhere (T11). The next recovery fails the turn (R2); no
 * subscriber waits for that.
 */
export function endUnwritten(turnId: string, { code, message }: Failure): AptoveError {
  const next = "the turn will be marked as failed as soon as the store works; then follow it again from the last event";
  return new AptoveError(code, `the end of turn ${turnId} could not be stored: ${message}; ${next}`);
}
