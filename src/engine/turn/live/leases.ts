/**
 * The leases of the turns that run here (R1). The store's clock says when a lease began and when others may take its
 * turn; this process counts its own time, from before it asked. So it stops in time whatever the clocks say, also when
 * it is cut off from the store and nobody can tell it.
 */
import { failure } from "../../../domain/errors.ts";
import { limits } from "../../../domain/limits.ts";
import type { EngineCore } from "./engine-core.ts";
import type { LiveTurn } from "./live-turns.ts";

export const runnerLost = failure(
  "runner_lost",
  "the process that ran this turn ended, or could not reach its records; what it had said is kept",
);

/** Asked before everything that the world can see: a call of the model, a tool, an event. Stops the turn where it says no. */
export function holdsLease(core: EngineCore, live: LiveTurn, at = core.deps.monotonic()): boolean {
  if (!live.isLost && at >= live.leaseUntil - limits.leaseMarginMs) lose(core, live);
  return !live.isLost;
}

/** What is about to be lost is stopped; it is checked often, because a call to the store may hang. */
export function stopOutlived(core: EngineCore): void {
  const at = core.deps.monotonic();
  for (const live of core.live.all()) holdsLease(core, live, at);
}

/** Ends the run. One whose end is being written already is left to the store, which takes it or refuses it. */
export function lose(core: EngineCore, live: LiveTurn): void {
  if (live.isLost || live.isStored) return;
  live.isLost = true;
  live.controller.abort();
  if (live.isSettling) return;
  core.deps.report(`turn ${live.turnId} is stopped: its lease could not be renewed in time`);
  core.live.letGo(live);
}

/** Of all turns that have one. Those that the store does not give one any more are lost. */
export async function renewLeases(core: EngineCore): Promise<void> {
  const { records, runner, monotonic } = core.deps;
  const held = core.live.all().filter((live) => live.leaseUntil < Infinity && !live.isLost && !live.isStored);
  if (held.length === 0) return;
  const asked = monotonic();
  const turnIds = held.map(({ turnId }) => turnId);
  const renewed = new Set(await records.runners.renewLeases({ runnerId: runner.id, turnIds, leaseMs: limits.leaseMs }));
  for (const live of held) {
    if (renewed.has(live.turnId)) live.leaseUntil = Math.max(live.leaseUntil, asked + limits.leaseMs);
    else lose(core, live);
  }
}
