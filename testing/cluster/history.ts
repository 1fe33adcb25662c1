/**
 * What a run of the cluster did and saw, for the checker: operations with their beginnings and ends, in the manner of
 * Jepsen. An operation whose answer never came may have taken place or not; only what was answered counts as promised.
 */
import type { AgUiEvent } from "../../src/protocol/ag-ui.ts";

/** Milliseconds since the beginning of the run. */
export type RunMs = number;

export interface History {
  turns: TurnOperation[];
  probes: Probe[];
  faults: Fault[];
}

/** An instruction: its word stands in it and in its answer, and nowhere else. */
export interface TurnOperation {
  word: string;
  org: number;
  sessionId: string | null;
  begin: RunMs;
  end: RunMs | null;
  /** `unknown`: no answer came. `refused`: by a code, before anything ran. */
  outcome: "answered" | "refused" | "unknown";
  code: string | null;
  /** Of an answered one. */
  turnId: string | null;
  kind: "answer" | "tool_calls" | "error" | null;
  text: string;
  errorCode: string | null;
  /** Words of messages that the running turn was said to have taken (V4). */
  steered: string[];
  /** As they came to the client, over all its connections. */
  received: { id: string; event: AgUiEvent }[];
}

/** A look at what belongs to another org. */
export interface Probe {
  what: string;
  /** True: it was seen, be it only that it exists. */
  saw: boolean;
}

export interface Fault {
  at: RunMs;
  server: number | null;
  what: string;
  healedAt: RunMs | null;
}

/** What the servers say when everything has settled. */
export interface FinalState {
  sessions: FinalSession[];
}

export interface FinalSession {
  id: string;
  org: number;
  headTurnId: string | null;
  /** The mailbox, where subagents reported. */
  undelivered: number;
  turns: FinalTurn[];
}

export interface FinalTurn {
  id: string;
  parentId: string | null;
  sequence: number;
  kind: "agent" | "async_subagent";
  status: string;
  instruction: string;
  answer: string;
  failureCode: string | null;
  statusAt: string | null;
  /** Whole, as each server tells them. */
  events: { id: string; event: AgUiEvent }[][];
  /** Places that it was resumed from, each at another server than the last, and what was not as it must be. */
  splitsRead: number;
  splitFaults: string[];
}
