/**
 * The background jobs of an engine: leases, lost turns, requests of other processes (R1, R2, R3), and the retention of
 * the audit log.
 */
import { failureOf } from "../../domain/errors.ts";
import { limits } from "../../domain/limits.ts";
import { wakeTopics } from "../../live/wake-ups.ts";
import { auditRetention } from "../access/audit.ts";
import { noteBudgets } from "../turn/live/budgeted-turns.ts";
import { followControls } from "../turn/live/control.ts";
import type { EngineCore } from "../turn/live/engine-core.ts";
import { renewLeases, stopOutlived } from "../turn/live/leases.ts";
import { dropLeftLogs, recoverLostTurns } from "../turn/recover-turns.ts";

/** What makes summaries of sessions (M5). */
export interface SummaryJobs {
  renew(): Promise<void>;
  recover(): Promise<void>;
}

export interface BackgroundJobs {
  stop(): Promise<void>;
}

/** Starts the background jobs. `stop` waits for the ones that are running. */
export function startBackgroundJobs(core: EngineCore, summaries: SummaryJobs): BackgroundJobs {
  const dropOldAudit = auditRetention(core.deps);
  // Turns that outlive their lease are stopped by a timer that never waits. Each of the other jobs may wait for a store
  // that does not answer.
  const watch = setInterval(() => stopOutlived(core), limits.controlPollMs);
  watch.unref();
  const rounds = [
    regularly(limits.leaseRenewMs, (lateMs) => renewAndNote(core, lateMs)),
    regularly(limits.leaseRenewMs, () => orReport(core, "new budgets could not be read", noteBudgets)),
    regularly(limits.recoverMs, () => recoverOrReport(core)),
    regularly(limits.leaseRenewMs, () =>
      orReport(core, "the leases of summaries could not be renewed", () => summaries.renew()),
    ),
    regularly(limits.recoverMs, () =>
      orReport(core, "summaries that lost their process could not be searched", () => summaries.recover()),
    ),
    regularly(limits.recoverMs, () =>
      orReport(core, "old entries of the audit log could not be deleted", dropOldAudit),
    ),
    regularly(limits.runnerNotedMs, () =>
      orReport(core, "it could not be noted that this process goes on", noteRunner),
    ),
    regularly(limits.leftLogsMs, () =>
      orReport(core, "live logs that dead processes left behind could not be deleted", dropLeftLogs),
    ),
    watchControls(core),
  ];
  return {
    stop: async () => {
      clearInterval(watch);
      for (const round of rounds) await round.stop();
    },
  };
}

/**
 * Runs a job at a fixed interval, but never twice at once: with a slow store the runs would pile up. A run is late if
 * the process was held up, or if the run before it took long.
 */
function regularly(ms: number, round: (lateMs: number) => Promise<void>): BackgroundJobs {
  let running: Promise<void> | null = null;
  let due = performance.now() + ms;
  const timer = setInterval(() => {
    if (running !== null) return;
    const lateMs = performance.now() - due;
    due = performance.now() + ms;
    running = round(lateMs).finally(() => (running = null));
  }, ms);
  timer.unref();
  return {
    stop: async () => {
      clearInterval(timer);
      await running;
    },
  };
}

async function renewAndNote(core: EngineCore, lateMs: number): Promise<void> {
  const { observer, report } = core.deps;
  try {
    await renewLeases(core);
    observer.note({ type: "leases_renewed", lateMs, code: null });
  } catch (error) {
    observer.note({ type: "leases_renewed", lateMs, code: failureOf(error).code });
    report("leases could not be renewed", error);
  }
}

/**
 * Carries out what other processes request of the turns that run here (R3), when a wake-up arrives, and now and then
 * without one.
 */
function watchControls(core: EngineCore): BackgroundJobs {
  const { wakeUps, runner } = core.deps;
  const failing = "the requests of other processes to running turns could not be read";
  let looking: Promise<void> | null = null;
  let isMissed = false;
  // One read at a time. A wake-up that arrives during a read causes another read after it.
  const look = (): void => {
    if (core.live.count === 0) return;
    isMissed = looking !== null;
    looking ??= orReport(core, failing, followControls).finally(() => {
      looking = null;
      if (isMissed) look();
    });
  };
  let beats = 0;
  const timer = setInterval(() => {
    beats = wakeUps?.isConnected() === true ? (beats + 1) % limits.controlPollsPerWakeUp : 0;
    if (beats === 0 && looking === null) look();
  }, limits.controlPollMs);
  timer.unref();
  const sleep = wakeUps?.on(wakeTopics.controls(runner.id), look);
  return {
    stop: async () => {
      sleep?.();
      clearInterval(timer);
      await looking;
    },
  };
}

/** A process on another machine deletes runners that were noted long ago, and what they hold in budgets counts as used (F11). */
export async function noteRunner({ deps }: EngineCore): Promise<void> {
  await deps.records.runners.insert({ ...deps.runner, startedAt: deps.now() });
}

export async function recoverOrReport(core: EngineCore): Promise<void> {
  await orReport(core, "turns that lost their process could not be searched", recoverLostTurns);
}

async function orReport(
  core: EngineCore,
  failing: string,
  work: (core: EngineCore) => Promise<unknown>,
): Promise<void> {
  try {
    await work(core);
  } catch (error) {
    core.deps.report(failing, error);
  }
}
