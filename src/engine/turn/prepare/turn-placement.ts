/** Where a new turn belongs in the tree (T6, T7), and what it takes from the mailbox (A2). */
import type { Session } from "../../../domain/session.ts";
import type { DeliveredMessage } from "../request/mailbox-block.ts";
import type { Parent } from "./turn-plan.ts";
import type { SubagentRef } from "../../../domain/subagent.ts";

export interface MailboxDelivery {
  /** What the model is given, oldest first. */
  messages: DeliveredMessage[];
  /** Those of them that leave the mailbox with this turn, by the subagents' turns. */
  takes: string[];
}

export interface TurnPlacement {
  /** Null: the turn begins a new session. */
  session: Session | null;
  /** The session whose contexts, workspace and repository count where the request names none. */
  model: Session | null;
  parent: Parent | null;
  /** The head as the caller saw it; the turn becomes the head only from there (S5). */
  head: string | null;
  /** Of a new session: the turn that it was forked from. */
  originTurnId: string | null;
  rerunOf: string | null;
  /** Null: the turn is the session's agent's. */
  subagent: SubagentPlace | null;
  mail: MailboxDelivery;
}

/** Beside the agent's turns, and never the head (A1). */
export interface SubagentPlace {
  turnId: string;
  ref: SubagentRef;
  /** The turn that began it or continued it. */
  spawnedBy: string;
  /** Its newest turn as it was seen; null: this is its first. */
  seenTurnId: string | null;
}
