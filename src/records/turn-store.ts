/**
 * The contract for the writes of a turn: its rows together with the blobs that they name (B1, K5). A store of records and a
 * store of blobs make one (`blobsFirst` in the engine): the blobs are written first, the row last. A store that keeps both in
 * one database writes them in one transaction.
 *
 * A driver must do the following.
 * - If a write succeeds, its rows and its blobs are stored, durably. If it fails or is refused, the rows are not. Blobs that
 *   are left then are garbage. So no row ever names a missing blob, whenever the process or the machine stops.
 * - The rows follow the contract of `TurnRecords`, the blobs that of a blob store: a key never gets other bytes.
 *
 * A driver may ignore `history`.
 */
import type { EntryPlace } from "./state-bytes.ts";
import type { Step } from "../domain/step.ts";
import type { FinishResult, OpenResult, TurnFinish, TurnOpening } from "./turns.ts";

export interface TurnStore {
  /** Opens a turn (`TurnRecords.open`). A refused opening leaves no blob. */
  open(opening: TurnOpening, blobs: readonly BlobWrite[]): Promise<OpenResult>;
  /**
   * Stores what a running turn did, before its next model call (R6). `step` is the step that ended last (`TurnRecords.insertStep`). Returns
   * false if the turn is not pending, or is another runner's; then the step is not stored, and neither are the blobs, or they are garbage.
   */
  advance(progress: StepProgress, blobs: readonly BlobWrite[]): Promise<boolean>;
  /**
   * Ends a turn (`TurnRecords.finish`). A driver whose work takes the processor awaits `mayGoOn` between the parts of it, before
   * anything is written, so that other turns run meanwhile (R5).
   */
  finish(finish: TurnFinish, blobs: TurnEndBlobs, mayGoOn?: () => Promise<void>): Promise<FinishResult>;
}

export interface BlobWrite {
  key: string;
  bytes: Uint8Array;
}

export interface StepProgress {
  turnId: string;
  runnerId: string;
  /** Null: the step is stored already. */
  step: Step | null;
  /** What the write must survive when it resolves: the end of the process only, until the next write of the turn, or the loss of power too. */
  survives: "the process" | "power loss";
}

export interface TurnEndBlobs {
  put: readonly BlobWrite[];
  /** The prefixes of keys that only a running turn needs. They are deleted when the turn has ended, or soon after. */
  drop: readonly string[];
  /** Which bytes of the turn's state earlier turns have too. Null: the turn has no state. */
  history: SharedHistory | null;
}

/** The entries of a state blob (K2), oldest first. The last one is that of the turn itself. */
export interface SharedHistory {
  key: string;
  entries: readonly EntryPlace[];
}
