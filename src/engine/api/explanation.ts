/** What can be said about turns afterwards: how two of them differ (D1), and whether a session is as it was sealed (D2). */
import type { ModelSettings } from "../../domain/context.ts";
import type { TurnStatus } from "../../domain/turn.ts";

export interface TurnDiff {
  a: DiffSide;
  b: DiffSide;
  /** True where both had the same boot prompt, tool list, model, settings. */
  same: {
    prompt: boolean;
    tools: boolean;
    model: boolean;
    settings: boolean;
    mode: boolean;
    conversationContext: boolean;
    agentContext: boolean;
  };
  chunks: ChunkDifference[];
  files: FileDifference[];
  /** What each of the two turns continued: neither counts as its own history, so a turn and its rerun have the same. */
  history: {
    /** The last turn that both histories share; null: none. */
    commonTurnId: string | null;
    commonTurns: number;
    onlyA: HistoryTurn[];
    onlyB: HistoryTurn[];
  };
}

export interface DiffSide {
  turnId: string;
  sessionId: string;
  sequence: number;
  status: TurnStatus;
  mode: string;
  provider: string;
  model: string;
  settings: ModelSettings;
  instruction: string;
  answer: string;
}

/** `changed`: the same place in the code with another content; the lines are those in B. */
export interface ChunkDifference {
  path: string;
  startLine: number;
  endLine: number;
  change: "only_a" | "only_b" | "changed";
}

/** Null: the model had no version of the file. */
export interface FileDifference {
  path: string;
  hashA: string | null;
  hashB: string | null;
}

export interface HistoryTurn {
  turnId: string;
  depth: number;
  instructionSummary: string;
}

export interface VerifyReport {
  sessionId: string;
  /** Turns whose digest was computed anew, those above a fork too. */
  turnsChecked: number;
  /** Turns without a digest: they failed before they could be sealed, or were made by a version without digests. */
  turnsUnsealed: number;
  /** The first turn that does not hold, and why; null: all of them hold. */
  fault: { turnId: string; sequence: number; reason: string } | null;
}
