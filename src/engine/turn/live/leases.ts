/**
 * The leases of the turns that run here (R1). The store's clock says when a lease began and when others may take its
 * turn; this process counts its own time, from before its request. So it stops in time whatever the clocks say, also when
 * it cannot reach the store.
 */
import { failure } from "../../../domain/errors.ts";
import { limits } from "../../../domain/limits.ts";
import type { EngineCore } from "./engine-core.ts";
import { hasLostLease, isOver, type LiveTurn, type LiveTurnState } from "./live-turn.ts";

export const runnerLost = failure(
  "runner_lost",
  "the process that ran this turn ended, or could not reach its records; what it had said is kept",
);

/** Whether the turn may act: asked before everything that the world can see, a model call, a tool, an event. Stops the turn if not. */
export function holdsLease(core: EngineCore, live: LiveTurn, at = core.deps.monotonic()): boolean {
  if (at >= live.leaseUntil - limits.leaseMarginMs) lose(core, live);
  return !hasLostLease(live.state);
}

/** Stops what is about to be lost. It runs often and by itself, because a call to the store may hang. */
export function stopOutlived(core: EngineCore): void {
  const at = core.deps.monotonic();
  for (const live of core.live.all()) holdsLease(core, live, at);
}

/** Ends the run. If its end is being written already, the store takes that or refuses it. */
export function lose(core: EngineCore, live: LiveTurn): void {
  if (!live.lose()) return;
  live.stop();
  if (live.state.name !== "lost") return;
  core.deps.report(`turn ${live.turnId} is stopped: its lease could not be renewed in time`);
}

/** Renews the leases of all turns that have one. A turn that the store gives none any more is lost. */
export async function renewLeases(core: EngineCore): Promise<void> {
  const { records, runner, monotonic } = core.deps;
  const held = core.live.all().filter(({ leaseUntil, state }) => leaseUntil < Infinity && mayRenew(state));
  if (held.length === 0) return;
  const asked = monotonic();
  const turnIds = held.map(({ turnId }) => turnId);
  const renewed = new Set(await records.runners.renewLeases({ runnerId: runner.id, turnIds, leaseMs: limits.leaseMs }));
  for (const live of held) {
    if (renewed.has(live.turnId)) live.leaseUntil = Math.max(live.leaseUntil, asked + limits.leaseMs);
    else lose(core, live);
  }
}

function mayRenew(state: LiveTurnState): boolean {
  return !isOver(state) && !hasLostLease(state);
}
