/**
 * A subagent: a line of turns of its own in a session, that a turn began and that runs beside it (A1). Its id is that of
 * its first turn. It is never a session's head, and what it found comes back through the mailbox (A2).
 */
/** What every turn of a subagent says of it. */
export interface SubagentRef {
  /** The id of its first turn. */
  id: string;
  name: string;
  /** The subagent that began it; null: the session's agent. */
  owner: string | null;
  /** 1 for what the session's agent began, one more for what that began. */
  level: number;
  /** Names of the tools that it may use, of those that whoever began it had; null: all of them. */
  tools: string[] | null;
}

/** What the store holds an opening of a subagent's turn against. */
export interface SubagentBounds {
  /** Subagents of one session that may run at the same time. */
  runningMax: number;
  /** Turns that the subagents of one session may have had in all. */
  turnsMax: number;
}
