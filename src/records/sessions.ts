/**
 * The records' part for sessions: their rows, their lists, who takes part, and the tree of turns that a session and its
 * forks form (S1 to S7, T6).
 *
 * A driver must do the following.
 * - The head moves only from the value that the caller saw (S5). `moveHead` is the compare-and-set for people; `turns.finish`
 *   moves the head for turns.
 * - `update` changes the fields that it is given and no others, also when two processes change one session at once.
 * - A list is ordered as documented. Pages neither repeat nor skip a row when rows are inserted between them (S7).
 *
 * A driver may ignore who the caller is: the engine has already decided what the caller may see and do. Only the lists and
 * `search` take the user into account.
 */
import type { PinChange } from "../domain/pin.ts";
import type { TurnNameChange } from "../domain/turn-name.ts";
import type { Session, SessionPatch } from "../domain/session.ts";
import type { Turn, TurnStatus } from "../domain/turn.ts";

export interface SessionRecords {
  /** Inserts a session that has no turn yet. Throws `storage_failed` if the id exists. */
  insert(session: Session): Promise<void>;
  /** Returns deleted sessions too. Null if there is no such session. */
  get(id: string): Promise<Session | null>;
  /**
   * Returns the same, and the turn that the session's next turn follows: its head, or the turn that it was forked from if it has no
   * turn of its own. Null: there is no such turn. A store over a network reads both with one request.
   */
  getWithHead(id: string): Promise<SessionWithHead | null>;
  /**
   * Changes the given fields, and sets `updatedAt` to `at`. Returns the session as it then is, or null if there is none. An
   * empty change sets only `updatedAt`. If `at` is null, `updatedAt` stays.
   */
  update(id: string, change: SessionChange, at: number | null): Promise<Session | null>;
  /** Returns the newest activity first; sessions of the same time by id, descending (S7). */
  list(query: SessionQuery): Promise<SessionPage>;
  /** Returns how many sessions `list` would return on all of its pages. */
  count(query: Omit<SessionQuery, "limit" | "after">): Promise<number>;
  /** Returns the deleted sessions of their owner: the latest deletion first; those of the same time by id, descending. */
  listDeleted(query: DeletedQuery): Promise<Session[]>;

  /**
   * Returns whether the user takes part in the session: the user owns it and opened a turn in it, or was invited, and was
   * not dismissed since (S7).
   */
  isParticipant(sessionId: string, userId: string): Promise<boolean>;
  /** Returns the ids of the users who take part, ascending. */
  listParticipants(sessionId: string): Promise<string[]>;
  /**
   * Adds the invited users and removes the dismissed ones. It does nothing for a session that does not exist, for an
   * invited user who takes part already, and for a dismissed user who does not take part.
   */
  changeParticipants(sessionId: string, change: { invited: string[]; dismissed: string[] }): Promise<void>;

  /**
   * Moves the head if it is still `from`, records the move, and sets `updatedAt`. It is refused while an agent turn runs. Its cost
   * does not depend on the length of the history (K1).
   */
  moveHead(move: HeadMove): Promise<MoveResult>;
  /** Returns the head moves that users made, oldest first. */
  listHeadMoves(sessionId: string): Promise<HeadMove[]>;
  /** Returns the forks that a list of the user would show (S7), by the turn that they begin below. The order is that of the turns' ids. */
  listForks(query: ForkQuery): Promise<TurnForks[]>;
}

export interface SessionWithHead {
  session: Session;
  head: Turn | null;
}

/** The fields to change. An absent field stays. */
export interface SessionChange extends SessionPatch {
  archivedAt?: number | null;
  deletedAt?: number | null;
  /** A pin to add or to remove. `repinned` is the rule (M6). */
  pins?: PinChange;
  /** A name for a turn, or none any more. `renamedTurns` is the rule (U5). */
  turnName?: TurnNameChange;
  /** A name that the program found. It is ignored if a user has set a name; `name` sets `nameIsSet`, this does not (S2). */
  proposedName?: string;
}

/** A query for sessions that the user owns, takes part in, or may see because they are public in the org (S7). It never finds deleted ones. */
export interface SessionQuery extends SessionFilter {
  orgId: string;
  userId: string;
  limit: number;
  after?: SessionCursor;
}
/** What a list of sessions selects. Absent fields select nothing. `matchesDocument` applies those without a column. */
export interface SessionFilter {
  /** True selects only archived sessions, false only the others. Absent: both (S6). */
  archived?: boolean;
  repo?: string;
  workspaceId?: string;
  /** Selects only sessions that this user owns or takes part in. */
  memberId?: string;
  label?: string;
  /** Selects sessions whose metadata has the key, with this value if it is given. */
  metadata?: { key: string; value?: string };
  agentContextId?: string;
  conversationContextId?: string;
  /** The status of the newest turn. */
  status?: TurnStatus;
  /** The bounds of the newest activity, in epoch milliseconds, both inclusive. */
  activeFrom?: number;
  activeUntil?: number;
  /** Selects only forks that begin below this turn. */
  forkOf?: string;
  /** True selects only sessions that were not forked from a session that the user may see. */
  isRoot?: true;
  /** The bounds of the tokens in total, both inclusive. */
  tokensMin?: number;
  tokensMax?: number;
}
/** The last row of the previous page. */
export interface SessionCursor {
  activeAt: number;
  id: string;
}
export interface SessionPage {
  sessions: Session[];
  /** Null on the last page, also if the last page is full. */
  next: SessionCursor | null;
}
/** A query for the forks of turns, which are other sessions: of these turns, or of all turns of these sessions. */
export interface ForkQuery {
  orgId: string;
  userId: string;
  workspaceId?: string;
  below: { turnIds: readonly string[] } | { sessionIds: readonly string[] };
  perTurnMax: number;
}
/** The forks that begin below one turn. */
export interface TurnForks {
  turnId: string;
  sessionId: string;
  sequence: number;
  depth: number;
  /** The number of all forks, which is at least 1. */
  count: number;
  /** Those with the newest activity, which comes first; those of the same time by id, descending. There are at most `perTurnMax`. */
  newest: Session[];
}
export interface DeletedQuery {
  orgId: string;
  userId: string;
  workspaceId?: string;
  limit: number;
}

/** A move of the head by a user (T6). `to` is a turn of the same session that may be a head (S5), or null: no head. It may be `from`. */
export interface HeadMove {
  sessionId: string;
  from: string | null;
  to: string | null;
  userId: string;
  at: number;
}
/**
 * The result of a head move. A refusal changes nothing. `missing`: the session does not exist or is deleted, or `to` is not one of its turns that
 * may be a head.
 */
export type MoveResult =
  | { outcome: "moved" }
  | { outcome: "head_moved"; headTurnId: string | null }
  | { outcome: "busy"; runningTurnId: string }
  | { outcome: "archived" }
  | { outcome: "missing" };
