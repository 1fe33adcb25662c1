/**
 * The program's whole API: what a door can ask for. Every call names the caller, and sees only what that
 * caller may see: anything else is `not_found` (H4). A refused call throws an AptoveError and has changed
 * nothing; a turn that was accepted always ends, and its failure is data in its outcome (T11).
 */
import type { RunningTurn, TurnReader, TurnRequest } from "./api/turns.ts";
import type { Explain, Transfer } from "./api/transfer.ts";
import type {
  Mailbox,
  MailboxRequest,
  SessionListRequest,
  SessionStart,
  Tree,
  WorkspaceSessions,
} from "./api/sessions.ts";
import type { AuditLog, Devices, KeyRing, Operator, People, Sharing } from "./api/people.ts";
import type { HealthReport, RecordsAbout } from "./api/health.ts";
import type { Contexts, Indexes } from "./api/contexts.ts";
import type { SessionPage } from "../records/record-store.ts";
import type { Turn, TurnKind } from "../domain/turn.ts";
import type { Session, SessionPatch } from "../domain/session.ts";
import type { SequencedEvent } from "../domain/events.ts";
import type { Caller } from "../domain/caller.ts";

export type * from "./api/contexts.ts";
export type * from "./api/health.ts";
export type * from "./api/people.ts";
export type * from "./api/sessions.ts";
export type * from "./api/transfer.ts";
export type * from "./api/turns.ts";

export interface Engine {
  /**
   * Runs a turn: a root without `sessionId`, else the next turn of that session. Resolves once the turn is
   * open and durable; the run goes on whether or not anyone listens (R5).
   */
  runTurn(caller: Caller, request: TurnRequest): Promise<RunningTurn>;
  /**
   * Events after `afterSeq` (0 for all), while the turn runs and ever after; ends after the terminal event (V2).
   * A place that the turn has not reached is `event_id_unknown`.
   */
  turnEvents(
    caller: Caller,
    turnId: string,
    from: { afterSeq: number; signal?: AbortSignal },
  ): Promise<AsyncIterable<SequencedEvent>>;
  /** Gives the running turn a message, which the model gets at its next step (V4). Gives the id of the turn. */
  steer(caller: Caller, target: ({ turnId: string } | { sessionId: string }) & { text: string }): Promise<string>;
  /** Stops the turn, or the session's running turn. Idempotent: gives the id of the turn that it stopped, or null (V4, T10). */
  interrupt(caller: Caller, target: { turnId: string } | { sessionId: string }): Promise<string | null>;

  createSession(caller: Caller, start: SessionStart): Promise<Session>;
  getSession(caller: Caller, id: string): Promise<Session>;
  updateSession(caller: Caller, id: string, patch: SessionPatch): Promise<Session>;
  listSessions(caller: Caller, page: SessionListRequest): Promise<SessionPage>;

  /** What subagents left for the session's agent, oldest first, and their turns that run now (A2). `fire` in a request takes it. */
  mailbox(caller: Caller, sessionId: string, page?: MailboxRequest): Promise<Mailbox>;

  getTurn(caller: Caller, id: string): Promise<Turn>;
  /** Newest first. */
  listTurns(
    caller: Caller,
    sessionId: string,
    page: { before?: number; limit?: number; kind?: TurnKind },
  ): Promise<Turn[]>;
  /** The parts of a turn that are kept as blobs, read back exactly. */
  readTurn(caller: Caller, id: string): Promise<TurnReader>;

  /** The parts of the program beside sessions. */
  readonly keys: KeyRing;
  readonly devices: Devices;
  readonly people: People;
  readonly operator: Operator;
  readonly sharing: Sharing;
  readonly audit: AuditLog;
  readonly indexes: Indexes;
  readonly contexts: Contexts;
  readonly tree: Tree;
  readonly explain: Explain;
  readonly transfer: Transfer;
  readonly workspaceSessions: WorkspaceSessions;
  /** The turns from the root to this one, oldest first, over forks (T6). Whoever may see the turn may see them: they are its history. */
  lineage(caller: Caller, turnId: string): Promise<Turn[]>;
  /** Counts a request of the caller over all servers. Throws `rate_limited` (H5). */
  takeRequest(caller: Caller): Promise<void>;
  /** Of the program. */
  readonly version: string;
  /** Cheap, however often it is called. */
  health(): Promise<HealthReport>;
  /** For the operator. */
  recordsAbout(): Promise<RecordsAbout>;
  /** Lets running turns finish for `graceMs`, then interrupts the rest; nothing is left pending (R4). */
  close(options?: { graceMs?: number }): Promise<void>;
}
