/** The position of a new turn in the tree (T6, T7), and the messages that it takes from the mailbox (A2). */
import type { ContinuableTurn } from "../../../domain/turn.ts";
import type { Session } from "../../../domain/session.ts";
import type { RememberedState } from "../../../records/turns.ts";
import type { DeliveredMessage } from "../request/mailbox-block.ts";
import type { SubagentRef } from "../../../domain/subagent.ts";

export interface MailboxDelivery {
  /** The messages that the model receives, oldest first. */
  messages: DeliveredMessage[];
  /** The messages that leave the mailbox with this turn, by the ids of the subagents' turns. */
  takes: string[];
}

export interface TurnPlacement {
  /** The session of the turn. Null if the turn starts a new session. */
  session: Session | null;
  /** The session whose contexts, workspace and repository count if the request names none. */
  model: Session | null;
  parent: ContinuableTurn | null;
  /** The head that the caller saw. The turn becomes the head only if it is still that one (S5). */
  head: string | null;
  /** The turn that a new session was forked from. Null if there is none. */
  originTurnId: string | null;
  rerunOf: string | null;
  /** The position of a subagent's turn. Null for a turn of the session's agent. */
  subagent: SubagentPlacement | null;
  mail: MailboxDelivery;
  /** What of this was not read, but is remembered. Null: nothing. */
  remembered: RememberedState | null;
  /** The messages that were sent to the turn before, which failed, and that the model never received (V4). */
  unheard: readonly string[];
}

export const noDelivery: MailboxDelivery = { messages: [], takes: [] };

/** The position of a turn that begins a session. */
export const newRoot: TurnPlacement = {
  session: null,
  model: null,
  parent: null,
  head: null,
  originTurnId: null,
  rerunOf: null,
  subagent: null,
  mail: noDelivery,
  remembered: null,
  unheard: [],
};

/** The position of a subagent's turn: beside the turns of the agent, and never the head (A1). */
export interface SubagentPlacement {
  turnId: string;
  ref: SubagentRef;
  /** The turn that started or continued the subagent. */
  spawnedBy: string;
  /** The newest turn of the subagent that the caller saw. Null if this is its first. */
  seenTurnId: string | null;
}
