/** A conversation as people read it, and as workspaces write it down (W4, W5): text only, in order. */

export interface TranscriptMessage {
  role: "user" | "assistant" | "system";
  text: string;
}

/** A finished turn, as the transcript of its session takes it. */
export interface TranscribedTurn {
  sessionId: string;
  turnId: string;
  parentTurnId: string | null;
  provider: string;
  model: string;
  /** Milliseconds since the epoch. */
  sessionCreatedAt: number;
  /** Usually the instruction and the answer; more where messages came while it ran, fewer where one of them is empty. */
  messages: TranscriptMessage[];
  /** Every turn before this one, oldest first; read only where the transcript does not have them. */
  earlier(): Promise<{ turnId: string; messages: TranscriptMessage[] }[]>;
}

/** Where a workspace's next session begins. `warnings` are for whoever begins it. */
export type TranscriptStanding =
  /** There was no conversation, or it was cleared, or the file could not be read and was put aside. */
  | { kind: "empty"; warnings: string[] }
  /** Where this session is. */
  | { kind: "session"; sessionId: string; warnings: string[] }
  /** A person edited the file, and it says this now. `adopt` makes it the transcript of the session that is begun with it. */
  | { kind: "edited"; messages: TranscriptMessage[]; warnings: string[]; adopt(turn: TranscribedTurn): Promise<void> };
