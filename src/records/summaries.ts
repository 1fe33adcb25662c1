/**
 * The records' part for summaries of sessions (M5).
 *
 * A driver must do the following.
 * - At most one summary of a session is being made, over all processes.
 * - The lease of a summary that is being made begins, is renewed and expires by the store's own clock, like that of a turn (R1).
 * - The write that ends a summary adds its tokens and its cost to the sums of its session.
 */
import type { Millis } from "../domain/ids.ts";
import type { CompletedSummary, EndedSummary, Summary } from "../domain/summary.ts";

export interface SummaryRecords {
  /**
   * Inserts a summary that begins, with a lease. `running`: another one of the session is being made. `missing`: the session or
   * the last turn of the range is not stored any more. Then nothing is written.
   */
  begin(summary: Summary, lease: SummaryLease): Promise<BeginSummary>;
  /** Replaces a summary that is being made. Returns false and writes nothing if it is not being made any more. */
  update(summary: Summary): Promise<boolean>;
  /** Returns null for an unknown id. */
  get(id: string): Promise<Summary | null>;
  /** Returns the summaries of a session, the newest first: by `createdAt`, those of the same time by id. */
  list(sessionId: string, page: { limit: number; status?: "completed" }): Promise<Summary[]>;
  /** Returns the newest completed summary of each of the sessions that has one. The order is undefined. */
  newestOf(sessionIds: readonly string[]): Promise<CompletedSummary[]>;
  /** Returns the ended summaries of an org that began in the period, oldest first. `until` is not part of it. */
  begunIn(period: { orgId: string; from: Millis; until: Millis }): Promise<EndedSummary[]>;
  /** Asks the process that makes the summary to stop. Returns false if the summary is not being made. */
  requestStop(id: string): Promise<boolean>;
  /**
   * Renews the leases of the named summaries that are still being made by the runner. Returns their ids, and whether someone
   * asked to stop them. The runner has lost the others.
   */
  renew(ids: readonly string[], lease: SummaryLease): Promise<{ id: string; isStopping: boolean }[]>;
  /**
   * Takes the summaries whose runner is not among the runners any more, and those whose lease expired, unless their runner is spared.
   * It gives them to the runner, with a lease, so that it ends them. Each is given to one caller only.
   */
  takeLost(taking: SummaryLease & { sparedRunnerIds?: readonly string[] }): Promise<Summary[]>;
}

export interface SummaryLease {
  runnerId: string;
  leaseMs: number;
}

export type BeginSummary = { outcome: "begun" } | { outcome: "running"; id: string } | { outcome: "missing" };
