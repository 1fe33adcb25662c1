/** The orderly end of an engine (R4). */
import { AptoveError } from "../../domain/errors.ts";
import type { CloseOptions } from "../engine.ts";
import { countWaiting } from "../turn/live/budgeted-turns.ts";
import type { EngineCore } from "../turn/live/engine-core.ts";
import type { BackgroundJobs } from "./background-jobs.ts";

interface ClosingParts {
  jobs: BackgroundJobs;
  /** Waits for the summaries that are being made. It stops them when the signal aborts. */
  summaries: { close(isOver: AbortSignal): Promise<void> };
  /** Called just before the records are closed. */
  beforeRecords(this: void): void;
}

/**
 * Ends the engine (R4): it refuses new turns, waits for the running ones for a limited time, and interrupts the rest.
 * No turn is left pending.
 */
export async function closeEngine(
  core: EngineCore,
  { jobs, summaries, beforeRecords }: ClosingParts,
  { graceMs = core.deps.limits.shutdownGraceMs, onWaiting, onTurnsEnded }: CloseOptions,
): Promise<void> {
  if (core.closing.signal.aborted) return;
  core.closing.abort();
  const { deps } = core;
  const grace = new AbortController();
  const all = [core.live, ...core.unkeptLive];
  onWaiting?.({ runningTurns: all.reduce((sum, { count }) => sum + count, 0), graceMs });
  const isOver = new AbortController();
  const ended = async (): Promise<void> => {
    await Promise.all([...all.map((some) => some.untilAllEnded()), summaries.close(isOver.signal)]);
  };
  await Promise.race([ended().then(() => grace.abort()), deps.sleep(graceMs, grace.signal)]);
  isOver.abort();
  for (const some of all) for (const live of some.all()) live.stopWithServer();
  await ended();
  await jobs.stop();
  await closeParts(core, { jobs, beforeRecords }, onTurnsEnded);
}

/**
 * Closes every part, also after one has failed. Throws the first failure, unless it says only that the records are not where they were:
 * then there is nothing left that could be written, and each write that was refused before has been answered with that.
 */
async function closeParts(
  core: EngineCore,
  { jobs, beforeRecords }: Pick<ClosingParts, "jobs" | "beforeRecords">,
  closeDoors = async () => {},
): Promise<void> {
  const { deps } = core;
  const closings = [
    closeDoors,
    // This stores the end of turns whose end could not be written before.
    () => jobs.recover(),
    // Other processes count all that was held for the calls of a process that has ended.
    () => countWaiting(core),
    () => core.transcriber.writtenAll(),
    () => deps.records.runners.delete(deps.runner.id),
    () => deps.log.close(),
    ...[...deps.retrievers.values()].map((retriever) => () => retriever.close()),
    async () => beforeRecords(),
    () => deps.records.close(),
  ];
  const faults: unknown[] = [];
  for (const closing of closings) {
    try {
      await closing();
    } catch (error) {
      if (!areMoved(error)) faults.push(error);
    }
  }
  if (faults.length > 0) throw faults[0];
}

function areMoved(error: unknown): boolean {
  return error instanceof AptoveError && error.code === "records_moved";
}
