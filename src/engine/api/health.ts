/** The state of the program and of its stores. */
import type { StoreAbout } from "../../records/record-store.ts";

/** `failed`: it refused, or did not answer in time. */
export type StoreState = "ok" | "failed";

/** Which database keeps the records, and the versions of its data and of this program. */
export type RecordsAbout = StoreAbout;

export interface HealthReport {
  version: string;
  runnerId: string;
  records: StoreState;
  blobs: StoreState;
  /** The live log. */
  log: StoreState;
  runningTurns: number;
  isShuttingDown: boolean;
}
