/**
 * The history of a cluster run for the checker: operations with their begin and end times, as in
 * Jepsen. An operation without an answer may or may not have taken effect; only answered ones count as promised.
 */
import type { AgUiEvent } from "../../src/protocol/ag-ui.ts";

/** Milliseconds since the run began. */
export type RunMs = number;

export interface History {
  turns: TurnOperation[];
  probes: Probe[];
  faults: Fault[];
}

/** An instruction. Its word is in the instruction and in its answer, and nowhere else. */
export interface TurnOperation {
  word: string;
  org: number;
  sessionId: string | null;
  begin: RunMs;
  end: RunMs | null;
  /** `unknown`: no answer came. `refused`: the server answered with an error code before anything ran. */
  outcome: "answered" | "refused" | "unknown";
  code: string | null;
  /** The turn id of an answered operation. */
  turnId: string | null;
  kind: "answer" | "tool_calls" | "error" | null;
  text: string;
  errorCode: string | null;
  /** Words of the messages that the server accepted for the running turn (V4). */
  steered: string[];
  /** The events that the client received, over all its connections. */
  received: { id: string; event: AgUiEvent }[];
}

/** A request for something that belongs to another org. */
export interface Probe {
  what: string;
  /** True if the answer revealed at least that it exists. */
  saw: boolean;
}

export interface Fault {
  at: RunMs;
  server: number | null;
  what: string;
  healedAt: RunMs | null;
}

/** The final state, as the servers report it. */
export interface FinalState {
  sessions: FinalSession[];
}

export interface FinalSession {
  id: string;
  org: number;
  headTurnId: string | null;
  /** The mailbox with the reports of subagents. */
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
  /** The complete events, as each server returns them. */
  events: { id: string; event: AgUiEvent }[][];
  /** Positions from which the turn was resumed, each on another server than the last, and the faults that were found. */
  splitsRead: number;
  splitFaults: string[];
}
