/**
 * Fails turns whose runner has ended (R2). Their steps and partial output are kept, with a terminal event. The turn of
 * a live runner is never touched. A lost turn is taken over first, so that one of several recoveries does the work, and
 * a runner that was only paused cannot write any more (R1).
 */
import { failure, failureOf, type Failure } from "../../domain/errors.ts";
import { timeOfId } from "../../domain/ids.ts";
import { limits } from "../../domain/limits.ts";
import { isStoreFault } from "../../domain/storage-fault.ts";
import type { PendingTurn } from "../../domain/turn.ts";
import type { LostTurn, Runner } from "../../records/runners.ts";
import type { EngineCore } from "./live/engine-core.ts";
import { failLost } from "./fail-lost.ts";
import { runnerLost } from "./live/leases.ts";

/** Takes over and fails the lost turns of all processes. Returns how many there were. */
export async function recoverLostTurns(core: EngineCore): Promise<number> {
  const { records, runner } = core.deps;
  let recovered = await recoverOwn(core);
  const { dead, spared } = await otherRunners(core);
  const found = { deadRunnerIds: dead, sparedRunnerIds: spared };
  const asked = { runnerId: runner.id, leaseMs: limits.leaseMs, ...found, limit: limits.recoveredTurnsMax };
  for (;;) {
    const taken = await records.runners.takeLostTurns(asked);
    // Its own run ends a turn that runs here: both have the same runner, so the store would let it add a step to the failed turn.
    recovered += await failAll(
      core,
      taken.filter(({ turn }) => core.live.get(turn.id) === undefined),
    );
    if (taken.length < asked.limit) break;
  }
  for (const id of dead) await records.runners.delete(id);
  await records.budgets.settleLost("of lost runners");
  return recovered + (await records.unkept.failLost(core.deps.now()));
}

/** Fails turns of this process whose end could not be written to the store. Returns how many. */
async function recoverOwn(core: EngineCore): Promise<number> {
  let recovered = 0;
  for (const id of [...core.unsettled.keys()]) {
    if (core.live.get(id) !== undefined) continue;
    const turn = await core.deps.records.turns.get(id);
    if (turn?.status !== "pending" || turn.runnerId !== core.deps.runner.id) core.unsettled.delete(id);
    else recovered += await failAll(core, [ownTurn(turn)]);
  }
  return recovered;
}

/** Deletes the live logs of turns whose process was killed before it deleted them, here or at another server. */
export async function dropLeftLogs(core: EngineCore): Promise<void> {
  for (const turnId of await core.deps.log.list()) {
    const turn = await core.deps.records.turns.get(turnId);
    // A log without a turn is left of a health check, or its turn was purged.
    const isLeft =
      turn === null
        ? timeOfId(turnId) < core.deps.now() - limits.garbageAgeMs
        : turn.status !== "pending" && turn.blobs.run !== null;
    if (isLeft) await core.deps.log.drop(turnId);
  }
}

/** Recovers one turn, because a request waits for its session. Returns true if it was lost and is now failed. */
export async function recoverTurn(core: EngineCore, turnId: string): Promise<boolean> {
  const { records, runner, isAlive, recordsAreEmbedded } = core.deps;
  const turn = await records.turns.get(turnId);
  if (turn?.status !== "pending") return false;
  if (turn.runnerId === runner.id) {
    return core.live.get(turnId) === undefined && (await failAll(core, [ownTurn(turn)])) > 0;
  }
  const owner = await records.runners.get(turn.runnerId);
  const lives = owner === null ? null : isAlive(owner, runner);
  const deadRunnerIds = lives === false ? [turn.runnerId] : [];
  const sparedRunnerIds = lives === true && recordsAreEmbedded === true ? [turn.runnerId] : [];
  const found = { deadRunnerIds, sparedRunnerIds };
  const taking = { runnerId: runner.id, leaseMs: limits.leaseMs, ...found, limit: 1, turnId };
  return (await failAll(core, await records.runners.takeLostTurns(taking))) > 0;
}

function ownTurn(turn: PendingTurn): LostTurn {
  return { turn, lostBy: turn.runnerId };
}

/** Returns why the turn failed: a store whose failure kept this process from ending its own turn, or the lost runner. */
function reasonOf({ unsettled }: EngineCore, { id }: PendingTurn): Failure {
  const known = unsettled.get(id);
  return known !== undefined && isStoreFault(known.code) ? known : runnerLost;
}

/**
 * Fails several turns side by side. Returns how many. A turn that cannot be failed delays neither the others nor the start.
 */
async function failAll(core: EngineCore, lost: readonly LostTurn[]): Promise<number> {
  const runners = new Map<string, Runner | null>();
  for (const { lostBy } of lost) {
    // Only the report has its name.
    if (!runners.has(lostBy)) runners.set(lostBy, await core.deps.records.runners.get(lostBy).catch(() => null));
  }
  const waiting = [...lost];
  let count = 0;
  const work = async (): Promise<void> => {
    for (let one = waiting.shift(); one !== undefined; one = waiting.shift()) {
      if (await failObserved(core, one, runners.get(one.lostBy) ?? null)) count += 1;
    }
  };
  await Promise.all(Array.from({ length: limits.recoveriesAtOnceMax }, work));
  return count;
}

/** Fails one turn, and reports it to observers (F10). Returns true if this process failed it. Never rejects. */
async function failObserved(core: EngineCore, { turn, lostBy }: LostTurn, runner: Runner | null): Promise<boolean> {
  const { id: turnId, sessionId } = turn;
  const { host = null, pid = null } = runner ?? {};
  const activity = core.deps.observer.recovery({ turnId, sessionId, lostBy: { runnerId: lostBy, host, pid } });
  return await activity.within(async () => {
    const reason = reasonOf(core, turn);
    try {
      const isOurs = await failLost(core, turn, reason);
      core.unsettled.delete(turnId);
      activity.end(isOurs ? { outcome: "recovered", code: reason.code } : { outcome: "left", code: null });
      return isOurs;
    } catch (error) {
      const { code, message } = failureOf(error);
      activity.end({ outcome: "failed", code });
      // Its log may be damaged, or the disk full.
      if (!core.unsettled.has(turnId))
        core.deps.report(`turn ${turnId} could not be recovered; it will be tried again`, error);
      core.unsettled.set(turnId, core.unsettled.get(turnId) ?? failure("runner_lost", message));
      return false;
    }
  });
}

/**
 * Returns the runners whose process has certainly ended, and those whose leases do not count because their process is
 * alive. Deletes runners of other machines that have been unused for a long time.
 */
async function otherRunners(core: EngineCore): Promise<{ dead: string[]; spared: string[] }> {
  const { records, runner, isAlive, recordsAreEmbedded, now } = core.deps;
  const isOld = ({ startedAt }: Runner): boolean => startedAt < now() - limits.forgottenRunnerMs;
  const dead: string[] = [];
  const spared: string[] = [];
  for (const other of await records.runners.list()) {
    if (other.id === runner.id) continue;
    const lives = isAlive(other, runner);
    if (lives === false) dead.push(other.id);
    if (lives === true && recordsAreEmbedded === true) spared.push(other.id);
    // It may still be running. Then only the leases decide about its turns.
    if (lives === null && isOld(other)) await records.runners.delete(other.id);
  }
  return { dead, spared };
}
