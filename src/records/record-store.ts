/**
 * The contract for records: rows (B1). The engine decides what is a row; a store decides nothing, but it
 * is the store that holds the rules which must hold over processes and machines:
 *
 * - T1: a session's sequence numbers count up by one and are unique.
 * - T2: a transition is a conditional write on the status and the runner that it leaves.
 * - T5: at most one `pending` agent turn per session, by a unique index and not by a look before.
 * - S5: the head moves only from the value last seen.
 * - T13: an idempotency key belongs to one caller and one turn.
 * - R1: a lease begins, is renewed and runs out by the store's own clock, so that the clocks of servers may differ
 *   by minutes. It is given as a duration. A runner counts its own time, from before it asked.
 *
 * What a driver must do: every method is one transaction, durable when it resolves (B3), and safe beside
 * other processes on the same data (B4). It gives back what was put in, unchanged. It never throws for an
 * outcome that is named in a result type. A full device is an AptoveError `storage_full`, data of a newer
 * version `data_newer`, every other fault of the medium `storage_failed`. Objects that go in or come out
 * belong to the caller: a driver neither keeps nor changes them.
 */
import type { ContextKind, ContextVersion, ContextVersionFacts } from "../domain/context.ts";
import type { MailboxDraft, MailboxMessage } from "../domain/mailbox.ts";
import type { Session, SessionPatch } from "../domain/session.ts";
import type { Step } from "../domain/step.ts";
import type { SubagentBounds } from "../domain/subagent.ts";
import type { FinishedTurn, PendingTurn, Turn, TurnDraft, TurnKind } from "../domain/turn.ts";
import type { ImportedRecords, ImportResult } from "./imported-records.ts";
import type { PeopleStore } from "./people-store.ts";
import type { TextHit, TextQuery, TurnText } from "./searched-texts.ts";

export type * from "./imported-records.ts";
export type * from "./people-store.ts";
export type * from "./searched-texts.ts";

export interface RecordStore extends PeopleStore {
  // Sessions
  insertSession(session: Session): Promise<void>;
  /** Deleted ones too; whoever calls decides what may be seen. */
  getSession(id: string): Promise<Session | null>;
  /** Changes only the named fields and `updatedAt`; a name given here sets `nameIsSet` (S2). */
  updateSession(id: string, patch: SessionPatch, at: number): Promise<Session | null>;
  /** The program's own name for a session; one that somebody set stays (S2). */
  nameSession(id: string, name: string): Promise<void>;
  /** S7: newest activity first; equal times by id, descending. */
  listSessions(query: SessionQuery): Promise<SessionPage>;

  // Turns
  openTurn(opening: TurnOpening): Promise<OpenResult>;
  /**
   * Writes a finished turn over the pending one of this runner; moves the head where `head` says so. Messages that the turn
   * took are delivered if it may be a parent, and else given back (A2). One transaction.
   */
  finishTurn(finish: TurnFinish): Promise<FinishResult>;
  getTurn(id: string): Promise<Turn | null>;
  /** By descending sequence number. `before` is exclusive. `kind`: only those. */
  listTurns(sessionId: string, page: { before?: number; limit: number; kind?: TurnKind }): Promise<Turn[]>;
  /** The pending agent turn of a session, if there is one. */
  pendingTurn(sessionId: string): Promise<PendingTurn | null>;
  /** Every pending turn of the store, in no order. */
  pendingTurns(): Promise<PendingTurn[]>;
  /** Whether the user takes part in the session: owns it and made a turn in it, or was invited, and was not dismissed since (S7). */
  tookPart(sessionId: string, userId: string): Promise<boolean>;
  /** Ids of those who take part, ascending. */
  listParticipants(sessionId: string): Promise<string[]>;
  /** Who is invited takes part, who is dismissed does not any more. Of no session, nothing. Whoever is there already, or not, stays so. */
  changeParticipants(sessionId: string, change: { invited: string[]; dismissed: string[] }): Promise<void>;
  findIdempotent(userId: string, key: string): Promise<IdempotentRequest | null>;

  // Subagents and the mailbox (A1, A2)
  /** Turns of the session's subagents, or of one of them, newest first. */
  subagentTurns(sessionId: string, page: { subagentId?: string; limit: number }): Promise<Turn[]>;
  /** By ascending number. `after` is exclusive; `waiting`: only those that nobody has taken. */
  listMailbox(sessionId: string, page: { after?: number; waiting?: boolean; limit: number }): Promise<MailboxMessage[]>;

  // The tree (S5, S6, T6)
  /**
   * Moves the head by compare-and-set, notes the move and sets `updatedAt`. Refused while an agent turn runs. Costs
   * the same however long the history is (K1).
   */
  moveHead(move: HeadMove): Promise<MoveResult>;
  /** The moves that people made, oldest first. */
  listHeadMoves(sessionId: string): Promise<HeadMove[]>;
  /** The sessions, deleted ones left out, that were forked from one of these turns: oldest first, equal times by id. */
  listForks(turnIds: readonly string[]): Promise<Session[]>;
  /** Sets or clears the times of archiving and soft deletion, and `updatedAt`; null when there is no such session. */
  markSession(id: string, marks: SessionMarks, at: number): Promise<Session | null>;
  /** The deleted sessions that the user owns, for whoever restores or purges: latest deletion first, equal times by id, descending. */
  listDeletedSessions(query: DeletedQuery): Promise<Session[]>;
  /**
   * Turns of the session that other sessions rest on, in no order: parents of other sessions' turns, origins of
   * other sessions, and all of their ancestors within this session (S6).
   */
  sharedTurnIds(sessionId: string): Promise<string[]>;
  /**
   * The turns of a session whose ids are not in `kept` go, with steps, texts and idempotency keys; a head that went
   * becomes null, and the head moves are forgotten. Where no turn is left the session itself goes too. False, and
   * nothing changed, where a turn runs (be it a subagent's) or where other sessions rest on a turn that is not kept.
   * True where there is no such session: nothing is left of it. The mailbox is emptied.
   */
  purgeSession(sessionId: string, kept: readonly string[]): Promise<boolean>;
  /** Those of the ids that a turn has, in no order: for collecting garbage (K4). */
  existingTurnIds(ids: readonly string[]): Promise<string[]>;
  /** Keys of all blobs that a turn's row and its steps name, each once (K4). None for an unknown turn. */
  blobKeysOf(turnId: string): Promise<string[]>;

  /**
   * Takes finished turns over as they are, for an import: sessions and turns with all their numbers, in one
   * transaction. They give nobody a part in a session (S7): who made them was not seen here.
   */
  insertImported(imported: ImportedRecords): Promise<ImportResult>;

  /** S8: searches names and the texts that `finishTurn` was given, in sessions that `listSessions` would show. */
  search(query: TextQuery): Promise<TextHit[]>;

  // Control of turns that run in another process (R3)
  /**
   * False: its turn is not pending, and nothing was written. Of an id that is there already nothing is changed. A control
   * of which this said true is taken, or `finishTurn` is told of it.
   */
  insertControl(control: TurnControl): Promise<boolean>;
  /** Takes, each exactly once and oldest first, what is there for the pending turns of a runner; drops what is there for finished turns. */
  takeControls(runnerId: string): Promise<TurnControl[]>;

  // Limits that hold over servers (H5)
  /** Turns that run now: the user's, and the org's. */
  countRuns(who: { userId: string; orgId: string }): Promise<{ user: number; org: number }>;
  /** Adds to what was used in the window of now, whatever it comes to; two at once both count. */
  takeRate(taking: RateTaking): Promise<RateTaken>;

  // Steps: written when they end, so that a crash of the runner loses only the running one (R2)
  /** False, and nothing written: the turn is not pending, or another runner's (R1). A step that is there is `storage_failed`. */
  insertStep(step: Step, runnerId: string): Promise<boolean>;
  listSteps(turnId: string): Promise<Step[]>;

  // Runners (R1)
  insertRunner(runner: Runner): Promise<void>;
  getRunner(id: string): Promise<Runner | null>;
  listRunners(): Promise<Runner[]>;
  deleteRunner(id: string): Promise<void>;
  /**
   * Of the turns that are named, those that are pending and the runner's get a lease of `leaseMs` from now on; a longer
   * one stays. Gives back their ids: the others are lost to the runner.
   */
  renewLeases(renewal: LeaseRenewal): Promise<string[]>;
  /**
   * Hands over pending turns whose lease ran out, or whose runner is among `deadRunnerIds`, to a runner that will fail
   * them (R2), the longest lost first. Each goes to one caller only, with a new lease, and from then on its former runner
   * cannot write (R1).
   */
  takeLostTurns(taking: LostTurnsTaking): Promise<PendingTurn[]>;

  // Contexts (G1)
  /**
   * Keeps a version, if the newest one of its context is the one before it; of two who write at once one does. A version
   * that is stored never changes. Refused, and nothing changed: the newest is another, 0 where there is none.
   */
  putContextVersion(version: ContextVersion): Promise<ContextPut>;
  /** The newest version of each context of the org, retired ones too, by kind and id; without what they say. */
  contextHeads(orgId: string): Promise<ContextVersionFacts[]>;
  /** The newest versions of the contexts that are not retired, in no order. */
  currentContexts(orgId: string): Promise<ContextVersion[]>;
  getContextVersion(of: ContextName & { version: number }): Promise<ContextVersion | null>;
  /** Newest first, without what they say. `before` is exclusive. */
  listContextVersions(of: ContextName, page: { before?: number; limit: number }): Promise<ContextVersionFacts[]>;

  /** Keeps the id of the blob store that belongs to these records, the first for ever. Gives back the one that is kept. */
  claimBlobStore(id: string): Promise<string>;
  /** Null: none was claimed yet. */
  blobStoreId(): Promise<string | null>;

  /** What the store is, for the operator. */
  about(): Promise<StoreAbout>;
  /** Bytes that the whole store takes, as well as the driver can tell (B7). */
  size(): Promise<number>;
  close(): Promise<void>;
}

/** S7: what the caller owns, or made a turn in, or is public in the org. Deleted ones never. */
export interface SessionQuery {
  orgId: string;
  userId: string;
  limit: number;
  after?: SessionCursor;
  /** Only archived ones, or only others; absent: both (S6). */
  archived?: boolean;
  repo?: string;
  workspaceId?: string;
  /** Only those of this owner. */
  ownerId?: string;
}
/** The last row of the page before. */
export interface SessionCursor {
  activeAt: number;
  id: string;
}
export interface SessionPage {
  sessions: Session[];
  /** Null after the last page; a full last page has null too. */
  next: SessionCursor | null;
}

export interface TurnOpening {
  turn: TurnDraft;
  /** Given for the first turn of a new session: inserted in the same transaction. */
  newSession: Session | null;
  /** The head that the caller saw; null for none. The turn is refused if it is another by now (S5). It does not count for a subagent's turn. */
  expectedHead: string | null;
  idempotency: IdempotentRequest | null;
  /** Of a subagent's turn: its newest turn as the caller saw it, null for none, and what the session may have (A1). */
  subagent?: SubagentBounds & { seenTurnId: string | null };
  /** Messages of the session's mailbox that the turn takes, by their turns: refused unless all of them wait (A2). */
  mail?: readonly string[];
  /** For how long the turn is the runner's before it must be renewed (R1). */
  leaseMs: number;
  /** Of how many turns at once there may be; absent: as many as there are (H5). */
  runLimits?: RunLimits;
}
export interface IdempotentRequest {
  userId: string;
  key: string;
  /** SHA-256 of the request (T13). */
  requestHash: string;
  turnId: string;
}
/** Turns that run at the same time, on all servers; null: no limit. */
export interface RunLimits {
  /** Of the session. */
  orgId: string;
  /** Of whoever made the turn. */
  perUser: number | null;
  perOrg: number | null;
}
export interface RateTaking {
  /** What is counted: any text. */
  scope: string;
  amount: number;
  /** Windows begin at multiples of this since the epoch, by the store's clock. */
  windowMs: number;
}
export interface RateTaken {
  /** In this window, with what was taken just now. */
  used: number;
  /** In the window before. */
  previous: number;
  /** Of this window. */
  elapsedMs: number;
}
/**
 * A refused opening changes nothing. `missing`: there is no such session, or it is deleted; or whose turn it is neither owns it
 * nor takes part in it, for example since they were dismissed (S7); or the turn that a new session starts from is gone. `head_moved`: the head is another one; or it is still none, and the session has had
 * its first turn all the same, whose id is taken (S4): it failed.
 */
export type OpenResult =
  | { outcome: "opened"; turn: PendingTurn }
  | { outcome: "busy"; runningTurnId: string }
  | { outcome: "head_moved"; headTurnId: string | null }
  | { outcome: "idempotent"; earlier: IdempotentRequest }
  /** Which of the bounds. */
  | { outcome: "subagents_limited"; bound: keyof SubagentBounds }
  /** The subagent has another newest turn than the caller saw, or its newest one still runs. */
  | { outcome: "subagent_moved" }
  | { outcome: "mail_taken" }
  | { outcome: "archived" }
  | { outcome: "limited"; of: "user" | "org"; running: number; limit: number }
  | { outcome: "missing" };

export interface TurnFinish {
  turn: FinishedTurn;
  /** Steps that are not stored yet, usually the last one: inserted in the same transaction. */
  steps: Step[];
  /** What the turn is found by (S8). */
  text: TurnText | null;
  /** The runner's token: the write is refused if the turn is not, or no longer, this runner's (R1). */
  runnerId: string;
  /**
   * The session's head becomes this turn if it is still `from` (S5): the parent of a continue, the turn that a
   * rerun replaces, null for a session without a head. Null: the head stays where it is.
   */
  head: { from: string | null } | null;
  /** What becomes of controls that nobody took: they keep the turn from ending, or are dropped (R3). */
  controls: "take first" | "drop";
  /** Put into the session's mailbox in the same transaction (A2). */
  message?: MailboxDraft;
}
/**
 * `refused`: the turn is not pending, or another runner's. `controlled`: there are controls to take first. Nothing was
 * changed by either.
 */
export type FinishResult =
  | { outcome: "finished" }
  | { outcome: "refused"; turn: Turn | null }
  | { outcome: "controlled" };

export interface LeaseRenewal {
  runnerId: string;
  turnIds: readonly string[];
  leaseMs: number;
}
export interface LostTurnsTaking {
  /** Who takes them; its own whose lease ran out are given too. */
  runnerId: string;
  leaseMs: number;
  /** Runners that are known to have ended: their turns are lost whatever their leases say. */
  deadRunnerIds: readonly string[];
  limit: number;
  /** Only this turn. */
  turnId?: string;
}

/** Of a store without versions they are all 0. */
export interface StoreAbout {
  /** Name and version of the database, for example `PostgreSQL 15.18`. */
  product: string;
  /** Of the data, and what this program knows. */
  version: number;
  known: number;
  /** Programs that know this version or a later one can use the data. */
  oldest: number;
}

/** A process that runs turns. */
export interface Runner {
  id: string;
  host: string;
  /** Tells boots of the machine apart, so that a number that was given again is not taken for the old process. */
  bootId: string;
  pid: number;
  /** The system's start time of the process where it can be had, else empty. */
  processStart: string;
  startedAt: number;
}

/** A head that a person moved (T6). `to`: a turn of the same session that may be a head (S5). */
export interface HeadMove {
  sessionId: string;
  from: string | null;
  to: string;
  userId: string;
  at: number;
}
/**
 * A refused move changes nothing. `missing`: there is no such session, it is deleted, or `to` is no turn of it that
 * may be a head.
 */
export type MoveResult =
  | { outcome: "moved" }
  | { outcome: "head_moved"; headTurnId: string | null }
  | { outcome: "busy"; runningTurnId: string }
  | { outcome: "archived" }
  | { outcome: "missing" };

/** An absent field stays as it is. */
export interface SessionMarks {
  archivedAt?: number | null;
  deletedAt?: number | null;
}
export interface DeletedQuery {
  orgId: string;
  userId: string;
  workspaceId?: string;
  limit: number;
}

export interface ContextName {
  orgId: string;
  kind: ContextKind;
  id: string;
}
export type ContextPut = { outcome: "stored" } | { outcome: "changed"; newest: number };

/** What another process asks of the one that runs the turn. */
export interface TurnControl {
  id: string;
  turnId: string;
  kind: "interrupt" | "steer";
  /** The message of a steer. */
  text: string;
  userId: string;
  at: number;
}
