/**
 * The background jobs of an engine: leases, lost turns, requests of other processes (R1, R2, R3), and the retention of
 * the audit log.
 */
import { failureOf, type Failure } from "../../domain/errors.ts";
import { limits } from "../../domain/limits.ts";
import { wakeTopics } from "../../live/wake-ups.ts";
import { apart } from "../../system/apart.ts";
import { RepeatedFault } from "../../system/repeated-fault.ts";
import { auditRetention } from "../access/audit.ts";
import { countWaiting, noteBudgets } from "../turn/live/budgeted-turns.ts";
import { followControls } from "../turn/live/control.ts";
import type { EngineCore } from "../turn/live/engine-core.ts";
import { renewLeases, stopOutlived } from "../turn/live/leases.ts";
import { dropLeftLogs, recoverLostTurns } from "../turn/recover-turns.ts";

/** What makes summaries of sessions (M5). */
export interface SummaryJobs {
  renew(): Promise<void>;
  recover(): Promise<void>;
}

interface Round {
  /** Waits for the job if it is running. */
  stop(): Promise<void>;
}

export interface BackgroundJobs extends Round {
  /** Fails the turns that lost their process. Never rejects. */
  recover(): Promise<void>;
}

/** Starts the background jobs. `stop` waits for the ones that are running. */
export function startBackgroundJobs(core: EngineCore, summaries: SummaryJobs): BackgroundJobs {
  const dropOldAudit = auditRetention(core.deps);
  const faults = new JobFaults(core);
  const every = (ms: number, failing: string, work: (core: EngineCore) => Promise<unknown>): Round =>
    regularly(ms, async () => void (await faults.orReport(failing, () => work(core))));
  const recover = async (): Promise<void> =>
    void (await faults.orReport("turns that lost their process could not be searched", () => recoverLostTurns(core)));
  // Turns that outlive their lease are stopped by a timer that never waits. Each of the other jobs may wait for a store
  // that does not answer.
  const watch = setInterval(() => stopOutlived(core), limits.controlPollMs);
  watch.unref();
  const rounds = [
    regularly(limits.leaseRenewMs, (lateMs) => renewAndNote(core, { faults, lateMs })),
    every(limits.leaseRenewMs, "new budgets could not be read", noteBudgets),
    every(limits.leaseRenewMs, "calls of models could not be counted in their budgets", countWaiting),
    regularly(limits.recoverMs, recover),
    every(limits.leaseRenewMs, "the leases of summaries could not be renewed", () => summaries.renew()),
    every(limits.recoverMs, "summaries that lost their process could not be searched", () => summaries.recover()),
    every(limits.recoverMs, "old entries of the audit log could not be deleted", dropOldAudit),
    every(limits.runnerNotedMs, "it could not be noted that this process goes on", noteRunner),
    every(limits.leftLogsMs, "live logs that dead processes left behind could not be deleted", dropLeftLogs),
    watchControls(core, faults),
  ];
  return {
    recover,
    stop: async () => {
      clearInterval(watch);
      for (const round of rounds) await round.stop();
    },
  };
}

/**
 * Reports why jobs fail that run again and again: once for each reason, until the job has another one, or succeeds.
 */
class JobFaults {
  readonly #core: EngineCore;
  /** The faults of the jobs that have failed, by what fails. */
  readonly #faults = new Map<string, RepeatedFault>();

  constructor(core: EngineCore) {
    this.#core = core;
  }

  /** Runs a job, whose failure `failing` says. Returns why it failed, or null. Never rejects. */
  async orReport(failing: string, work: () => Promise<unknown>): Promise<Failure | null> {
    try {
      await work();
      this.#faults.get(failing)?.succeeded();
      return null;
    } catch (error) {
      const reason = failureOf(error);
      // At the end, records that are not where they were leave nothing to do (close-engine.ts).
      if (this.#core.closing.signal.aborted && reason.code === "records_moved") return reason;
      const fault = this.#faults.get(failing) ?? new RepeatedFault(this.#core.deps.report, failing);
      this.#faults.set(failing, fault);
      fault.failed(error, `${reason.code} ${reason.message}`);
      return reason;
    }
  }
}

/**
 * Runs a job at a fixed interval, but never twice at once: with a slow store the runs would pile up. A run is late if
 * the process was held up, or if the run before it took long.
 */
function regularly(ms: number, round: (lateMs: number) => Promise<void>): Round {
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

async function renewAndNote(
  core: EngineCore,
  { faults, lateMs }: { faults: JobFaults; lateMs: number },
): Promise<void> {
  const failure = await faults.orReport("leases could not be renewed", () => renewLeases(core));
  core.deps.observer.note({ type: "leases_renewed", lateMs, code: failure?.code ?? null });
}

/**
 * Carries out what other processes request of the turns that run here (R3), when a wake-up arrives, and now and then
 * without one.
 */
function watchControls(core: EngineCore, faults: JobFaults): Round {
  const { wakeUps, runner } = core.deps;
  const failing = "the requests of other processes to running turns could not be read";
  let looking: Promise<unknown> | null = null;
  let isMissed = false;
  // One read at a time. A wake-up that arrives during a read causes another read after it.
  const look = (): void => {
    if (core.live.count === 0) return;
    isMissed = looking !== null;
    // A wake-up of this process comes from the turn that sent it.
    looking ??= apart(() => faults.orReport(failing, () => followControls(core))).finally(() => {
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
