/** The state of the program and of its stores. */
import type { Check } from "../../domain/check.ts";
import type { StoreAbout } from "../../records/record-store.ts";

/** The state of one store. `failed`: it returned an error, or did not answer in time. */
export type StoreState = "ok" | "failed";

/** The database that keeps the records, and the versions of its data and of this program. */
export type RecordsAbout = StoreAbout;

/** The state of one process. */
export interface HealthReport {
  version: string;
  runnerId: string;
  records: StoreState;
  blobs: StoreState;
  /** The log of the events of running turns. */
  log: StoreState;
  runningTurns: number;
  isShuttingDown: boolean;
}

/** A check of a part of the server, or the fact that it has begun. */
export type CheckState = Check | { name: string; state: "running"; detail: "" };

export interface CloseOptions {
  /** The time in milliseconds that running turns have to finish. */
  graceMs?: number;
  /** Takes what the engine waits for: the number of running turns, and the time in milliseconds that they have. */
  onWaiting?: (wait: ClosingWait) => void;
}

export interface ClosingWait {
  runningTurns: number;
  graceMs: number;
}
