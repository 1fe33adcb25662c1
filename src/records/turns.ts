/**
 * The records' part for turns: opening, finishing and reading them, and the steps of their runs (T1 to T13, R1, R2).
 *
 * A driver must do the following.
 * - `open` and `finish` are one transaction each, across everything that they change: the turn, its session, its steps and
 *   texts, the idempotency key, and the mailbox. So the parts `turns`, `sessions` and `subagents` share one database.
 * - The sequence numbers of a session count up by one and are unique (T1).
 * - A session has at most one pending agent turn. A unique index guarantees it, not a read before the write (T5).
 * - Only the runner that holds a pending turn writes to it: `finish` and `insertStep` are conditional on the status and on the
 *   runner (T2, R1).
 * - A driver that returns the session of a finished turn refuses an opening that rests on an older state of it (`remembered`).
 * - An idempotency key belongs to one user and one turn (T13).
 *
 * A driver may ignore what a turn contains. It stores and returns every member of the union unchanged.
 */
import type { BudgetTargets } from "../domain/budget.ts";
import type { ContextVersionFacts } from "../domain/context.ts";
import type { MailboxDraft } from "../domain/mailbox.ts";
import type { Session } from "../domain/session.ts";
import type { Millis } from "../domain/ids.ts";
import type { Step } from "../domain/step.ts";
import type { SubagentBounds } from "../domain/subagent.ts";
import type { ArchivedTurn, FinishedTurn, PendingTurn, Turn, TurnDraft, TurnKind } from "../domain/turn.ts";
import type { TurnText } from "./search.ts";

export interface TurnRecords {
  /** Inserts a pending turn with the next sequence number of its session. An owner takes part in the session from then on (S7). */
  open(opening: TurnOpening): Promise<OpenResult>;
  /**
   * Replaces the runner's pending turn with the finished one, and adds its tokens and its cost to the session. Moves the head
   * if `head` says so. The messages that the turn took are delivered if the turn may be a parent; otherwise they wait again (A2).
   * A failed turn may be a parent if it has a state (T12).
   */
  finish(finish: TurnFinish): Promise<FinishResult>;
  /**
   * Archives a finished turn of a session's agent that nothing continues (T2). A turn that is archived already stays as it is.
   * In one transaction, which locks the session as `open` does.
   */
  archive(archival: TurnArchival): Promise<ArchiveResult>;
  /** Sets `hiddenAt` of a finished turn that has none. Returns false if there is no such turn, or it is pending (O2). */
  hide(hiding: TurnArchival): Promise<boolean>;
  get(id: string): Promise<Turn | null>;
  /** Returns the turns by descending sequence number. */
  list(sessionId: string, page: TurnPage): Promise<Turn[]>;
  /** Returns the last turn of each of these sessions that has one, in any order. */
  listLast(sessionIds: readonly string[]): Promise<Turn[]>;
  /** Returns the pending agent turn of a session. Null if no agent turn runs. */
  findPending(sessionId: string): Promise<PendingTurn | null>;
  /** Returns all pending turns of all orgs, of agents and of subagents, ordered by id. */
  listPending(): Promise<PendingTurn[]>;
  findIdempotent(userId: string, key: string): Promise<IdempotentRequest | null>;
  /** Stores the key of a request that joined a running turn (V4, T13). Changes nothing if the user has the key already. */
  keepIdempotent(request: IdempotentRequest): Promise<void>;
  /** Returns the newest of the author's turns that have one of the history keys, newest first (O5). */
  findByHistory(author: string, keys: readonly string[]): Promise<FoundByHistory[]>;

  /**
   * Inserts a step when it ends, so that a crash of the runner loses only the running step (R2). Returns false and writes
   * nothing if the turn is not pending, or is another runner's (R1). The same step may be inserted again, and changes nothing.
   * Throws `storage_failed` if another step has its index.
   */
  insertStep(step: Step, runnerId: string): Promise<boolean>;
  /** Returns the steps in their order. */
  listSteps(turnId: string): Promise<Step[]>;
}

/** A turn with the key that it was found by. */
export interface FoundByHistory {
  turnId: string;
  historyKey: string;
}

/** How many turns `findByHistory` returns. */
export const foundByHistoryMax = 20;

export interface TurnPage {
  limit: number;
  /** Selects only smaller sequence numbers. */
  before?: number;
  kind?: TurnKind;
}

export interface TurnOpening {
  turn: TurnDraft;
  /** The new session whose first turn this is. It is inserted in the same transaction. Null: the session exists. */
  newSession: Session | null;
  /** The head that the caller saw; null for none. The turn is refused if the head differs (S5). Ignored for a subagent's turn. */
  expectedHead: string | null;
  idempotency: IdempotentRequest | null;
  /** Given for a subagent's turn: its newest turn as the caller saw it, null for none, and the bounds of the session (A1). */
  subagent?: SubagentBounds & { seenTurnId: string | null };
  /** The messages of the session's mailbox that the turn takes, by their turns. Refused unless all of them wait (A2). */
  mail?: readonly string[];
  /** How long the turn belongs to the runner before it must be renewed, in milliseconds (R1). */
  leaseMs: number;
  /** How many turns may run at once. Absent: no limit (H5). */
  runLimits?: RunLimits;
  /** Whom the model calls of the turn count for. Absent: for no one (F11). */
  budgets?: BudgetTargets;
  /** Given if the caller did not read the session and its contexts for this turn. The turn is refused unless they are as it remembers them. */
  remembered?: RememberedState;
}

/** What a turn rests on, of a session that this process ended the newest turn of. */
export interface RememberedState {
  /** The `version` of the session's `SessionAfterTurn`. */
  sessionVersion: string;
  orgId: string;
  /** The newest versions of the org's contexts. */
  contexts: readonly Pick<ContextVersionFacts, "kind" | "id" | "version">[];
}

/** A session as the end of its turn left it. */
export interface SessionAfterTurn {
  session: Session;
  /** Names this state of the session's row, for `RememberedState`. Every change of the row makes another one. */
  version: string;
}
export interface IdempotentRequest {
  userId: string;
  key: string;
  /** SHA-256 of the request (T13). */
  requestHash: string;
  turnId: string;
}
/** How many turns may run at the same time on all servers. Null: no limit. */
export interface RunLimits {
  /** The org of the session. */
  orgId: string;
  /** The limit for the turn's author. */
  perUser: number | null;
  perOrg: number | null;
}
/**
 * A refused opening changes nothing. `missing`: the session does not exist or is deleted; or the turn's author neither owns it
 * nor takes part in it, for example after a dismissal (S7); or the turn that a new session starts from is gone. `head_moved`:
 * the head is another one; or the session or a context changed since the caller remembered it; or there is still no head, but the session had its first turn, which failed, and the id of a first
 * turn is taken (S4).
 */
export type OpenResult =
  /** `hasBudget`: a budget of the opening's targets exists (F11). */
  | { outcome: "opened"; turn: PendingTurn; hasBudget: boolean }
  | { outcome: "busy"; runningTurnId: string }
  | { outcome: "head_moved"; headTurnId: string | null }
  | { outcome: "idempotent"; earlier: IdempotentRequest }
  /** `bound` names the bound that was reached. */
  | { outcome: "subagents_limited"; bound: keyof SubagentBounds }
  /** The subagent's newest turn is not the one that the caller saw, or it still runs. */
  | { outcome: "subagent_moved" }
  | { outcome: "mail_taken" }
  | { outcome: "archived" }
  | { outcome: "limited"; of: "user" | "org"; running: number; limit: number }
  | { outcome: "missing" };

export interface TurnFinish {
  turn: FinishedTurn;
  /** Steps that are not stored yet, usually the last one. They are inserted in the same transaction. */
  steps: Step[];
  /** The texts by which search finds the turn (S8). */
  text: TurnText | null;
  /** The runner's id. The write is refused if the turn is not this runner's (R1). */
  runnerId: string;
  /**
   * The session's head becomes this turn if it is still `from` (S5): the parent for a continued session, the replaced turn for
   * a rerun, null for a session without a head. Null: the head stays.
   */
  head: { from: string | null } | null;
  /** What happens if controls of the turn wait: the turn does not finish, or the controls are dropped (R3). */
  controls: "take first" | "drop";
  /** A message for the session's mailbox, inserted in the same transaction (A2). */
  message?: MailboxDraft;
  /** True: the result has the session, if the store can check later whether it is still like that. A store on the same machine is read instead. */
  returnsSession?: boolean;
}
export interface TurnArchival {
  turnId: string;
  at: Millis;
}
/**
 * Everything but `archived` changes nothing. `needed`: the turn is the head of a session, the origin of a fork, or the parent
 * of a turn that is not archived; deleted sessions count, because they can be restored. `missing`: there is no such turn, or it
 * is a subagent's.
 */
export type ArchiveResult =
  | { outcome: "archived"; turn: ArchivedTurn }
  | { outcome: "needed"; by: "head" | "fork" | "turn" }
  | { outcome: "pending" }
  | { outcome: "missing" };
/**
 * `refused`: the turn is not pending, or is another runner's. `controlled`: controls must be taken first. Both change
 * nothing.
 */
export type FinishResult =
  | { outcome: "finished"; after?: SessionAfterTurn }
  | { outcome: "refused"; turn: Turn | null }
  | { outcome: "controlled" };
