/**
 * The engine's whole API: everything that a door or an embedding program can request. Every method that takes a caller
 * acts with the rights of that caller alone. What the caller may not see does not exist for them: the method throws
 * `not_found` (H4). A method that throws an AptoveError has changed nothing. Once a turn is accepted it always ends, and
 * its failure is data in the finished turn, not an exception (T11).
 */
import type { Explanations, SessionTransfer } from "./api/transfer.ts";
import type { Turns, UnkeptTurns } from "./api/turns.ts";
import type { Sessions, SessionTree, WorkspaceSessions } from "./api/sessions.ts";
import type { AuditLog, Devices, KeyRing, Operator, People, SessionSharing } from "./api/people.ts";
import type { CheckState, CloseOptions, HealthReport, RecordsAbout } from "./api/health.ts";
import type { ContextRegistry, Indexes } from "./api/contexts.ts";
import type { Caller } from "../domain/caller.ts";

export type * from "./api/attachments.ts";
export type * from "./api/budgets.ts";
export type * from "./api/contexts.ts";
export type * from "./api/health.ts";
export type * from "./api/memory.ts";
export type * from "./api/people.ts";
export type * from "./api/pins.ts";
export type * from "./api/turn-names.ts";
export type * from "./api/sessions.ts";
export type * from "./api/summaries.ts";
export type * from "./api/transfer.ts";
export type * from "./api/turn-estimate.ts";
export type * from "./api/turn-request.ts";
export type * from "./api/workspaces.ts";
export type * from "./api/turns.ts";

/** An engine that runs turns. `createEngine` makes one, and `close` ends it, as the end of an `await using` does. */
export interface Engine extends AsyncDisposable {
  /** Runs turns, controls running ones, and reads finished ones. */
  readonly turns: Turns;
  /**
   * Makes a place for turns whose content is only in memory, as long as the place is (O3). Returns null if the caller's org keeps
   * the content of every turn. Throws `forbidden` if it refuses such turns, `request_invalid` if the server has none.
   */
  unkept(caller: Caller): Promise<UnkeptTurns | null>;
  /** Creates, reads, changes and lists sessions. */
  readonly sessions: Sessions;
  /** Changes sessions as a whole: moves a head, archives, removes, purges, searches. */
  readonly tree: SessionTree;
  /** Sessions that continue one another in a workspace. */
  readonly workspaceSessions: WorkspaceSessions;
  /** Who may read a session, and who takes part in it. */
  readonly sharing: SessionSharing;
  /** Agent contexts and conversation contexts. */
  readonly contexts: ContextRegistry;
  /** The retrieval indexes of the caller's org. */
  readonly indexes: Indexes;
  /** Compares two turns, and verifies the digests of a session. */
  readonly explain: Explanations;
  /** Exports and imports sessions. */
  readonly transfer: SessionTransfer;
  /** API keys, and the authentication of a caller by a secret. */
  readonly keys: KeyRing;
  /** Devices, each of which has its own token. */
  readonly devices: Devices;
  /** The caller's org and its users. */
  readonly people: People;
  /** Orgs, as the operator of the data manages them. */
  readonly operator: Operator;
  /** The log of what the users of an org did. */
  readonly audit: AuditLog;
  /** The version of the program, for example `0.1.0`. */
  readonly version: string;
  /**
   * Counts one request of the caller against the limits per minute of the user and of the org, over all servers that
   * share the records. Throws `rate_limited` (H5).
   */
  takeRequest(caller: Caller): Promise<void>;
  /** Returns whether the stores work. The answer is cached for a short time, so that any number of calls is cheap. Never throws. */
  health(): Promise<HealthReport>;
  /**
   * Checks the parts of the server, as `aptove doctor` does. Yields each check first as `running`, and again when it is done, which
   * takes at most ten seconds. Only an admin who runs the server may do this. Throws `forbidden`.
   */
  inspect(caller: Caller): AsyncIterable<CheckState>;
  /** Returns which database keeps the records, and the versions of its data. Has no caller: a door must give the answer to the operator only. */
  recordsAbout(): Promise<RecordsAbout>;
  /**
   * Refuses new turns with `shutting_down`, lets running turns finish for `graceMs` milliseconds (default: the limit
   * `shutdownGraceMs`), interrupts the rest, and closes the stores. When it resolves, no turn of this engine is pending
   * (R4). `onWaiting` is called once, before the wait, and `onTurnsEnded` after it. A second call does nothing. Later calls of
   * other methods, which need a store that is closed, throw `shutting_down`. Rejects with the first failure of a
   * store, after it has closed all of them.
   */
  close(options?: CloseOptions): Promise<void>;
}
