/**
 * The leases of the turns that run here (R1). The clock of the store decides when a lease began and when other
 * processes may take over its turn. This process measures its own time from before its request. So it stops in time
 * whatever the clocks show, and also if it cannot reach the store.
 */
import { failure } from "../../../domain/errors.ts";
import { limits } from "../../../domain/limits.ts";
import type { EngineCore } from "./engine-core.ts";
import { hasLostLease, isOver, type LiveTurn, type LiveTurnState } from "./live-turn.ts";

export const runnerLost = failure(
  "runner_lost",
  "the process that ran this turn ended or could not reach its records; its output so far is kept",
);

/**
 * Returns whether the turn may act. Call it before everything that has an effect outside: a model call, a tool, an
 * event. Stops the turn if it may not.
 */
export function holdsLease(core: EngineCore, live: LiveTurn, at = core.deps.monotonic()): boolean {
  if (at >= live.leaseUntil - limits.leaseMarginMs) lose(core, live);
  return !hasLostLease(live.state);
}

/**
 * Stops the turns whose lease is about to end. It runs often and on its own timer, because a call to the store may
 * hang.
 */
export function stopOutlived(core: EngineCore): void {
  const at = core.deps.monotonic();
  for (const live of core.live.all()) holdsLease(core, live, at);
}

/** Marks the turn as lost, and ends its run. If its end is already being written, the store accepts or refuses it. */
export function lose(core: EngineCore, live: LiveTurn): void {
  if (!live.lose()) return;
  // A timer, or the work of another turn, may have found it.
  live.watch.within(() => {
    live.stop();
    if (live.state.name !== "lost") return;
    core.deps.report(`turn ${live.turnId} is stopped: its lease could not be renewed in time`);
  });
}

/** Renews the leases of all turns that have one. A turn whose lease the store does not renew is lost. */
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
