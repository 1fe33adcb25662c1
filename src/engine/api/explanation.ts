/**
 * The reports about finished turns: how two of them differ (D1), and whether a session is unchanged since it was sealed
 * (D2).
 */
import type { ModelSettings, Place } from "../../domain/context.ts";
import type { TurnStatus } from "../../domain/turn.ts";

/** The differences between two turns, A and B. */
export interface TurnDiff {
  a: DiffSide;
  b: DiffSide;
  /** True for each part that is the same in both turns. */
  same: {
    prompt: boolean;
    tools: boolean;
    model: boolean;
    settings: boolean;
    mode: boolean;
    conversationContext: boolean;
    agentContext: boolean;
    rules: boolean;
    skills: boolean;
    facts: boolean;
    place: boolean;
  };
  chunks: ChunkDifference[];
  files: FileDifference[];
  /** The files with rules of the repository that differ (M1). */
  rules: FileDifference[];
  /** The skills that were offered and differ, by the paths of their SKILL.md files (M4). */
  skills: FileDifference[];
  /** The facts of the workspace's memory that differ; `path` is the id of the fact (M3). */
  facts: FileDifference[];
  /**
   * The histories that the two turns continued. A turn is not part of its own history, so a turn and its rerun have the
   * same one.
   */
  history: {
    /** The last turn that both histories have in common. Null if there is none. */
    commonTurnId: string | null;
    commonTurns: number;
    onlyA: HistoryTurn[];
    onlyB: HistoryTurn[];
  };
}

/** One of the two turns. */
export interface DiffSide {
  turnId: string;
  sessionId: string;
  sessionName: string;
  sequence: number;
  status: TurnStatus;
  mode: string;
  provider: string;
  model: string;
  settings: ModelSettings;
  place: Pick<Place, "folder" | "platform" | "date" | "branch"> | null;
  instruction: string;
  answer: string;
}

/**
 * A chunk that only one of the turns received. `changed`: both received the same part of a file with different
 * contents; the line numbers are those in B.
 */
export interface ChunkDifference {
  path: string;
  startLine: number;
  endLine: number;
  change: "only_a" | "only_b" | "changed";
}

/** A file of which the turns had different versions. A hash is null if that turn had no version. */
export interface FileDifference {
  path: string;
  hashA: string | null;
  hashB: string | null;
}

/** A turn of a history. */
export interface HistoryTurn {
  turnId: string;
  depth: number;
  instructionSummary: string;
}

/** The result of checking every stored turn. */
export interface VerifyAllReport {
  turns: number;
  /** The turns that cannot be read completely, or whose digest does not match. `sessionId` is null if not even the row can be read. */
  faults: { turnId: string; sessionId: string | null; reason: string }[];
}

/** The result of verifying a session. */
export interface VerifyReport {
  sessionId: string;
  /** The turns whose digest was recomputed, including those above a fork. */
  turnsChecked: number;
  /** The turns without a digest: they failed before they could be sealed, or an older version made them. */
  turnsUnsealed: number;
  /** The first turn whose digest does not match, and the reason. Null if all of them match. */
  fault: { turnId: string; sequence: number; reason: string } | null;
}
