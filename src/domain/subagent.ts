/**
 * A subagent: a sequence of turns in a session that a turn started, and that runs beside it (A1). Its id is the id of
 * its first turn. Its turns are never the head of the session, and its results are delivered through the mailbox (A2).
 */
/** The subagent, as each of its turns keeps it. */
export interface SubagentRef {
  /** The id of its first turn. */
  id: string;
  name: string;
  /** The subagent that started this one. Null: the agent of the session started it. */
  owner: string | null;
  /**
   * The level below the session's agent: 1 for a subagent that the agent started, 2 for one that such a subagent
   * started.
   */
  level: number;
  /** The names of the tools that it may use, out of those that its owner had. Null: all of them. */
  tools: string[] | null;
}

/** The limits that the store checks when it opens a turn of a subagent. */
export interface SubagentBounds {
  /** How many subagents of one session may run at the same time. */
  runningMax: number;
  /** How many turns the subagents of one session may have in total. */
  turnsMax: number;
}
