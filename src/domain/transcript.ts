/** A conversation as a person reads it and as a workspace writes it to a file (W4, W5): only text, in order. */

export interface TranscriptMessage {
  role: "user" | "assistant" | "system";
  text: string;
}

/** A finished turn as the transcript of its session receives it. */
export interface TranscribedTurn {
  sessionId: string;
  turnId: string;
  parentTurnId: string | null;
  provider: string;
  model: string;
  /** The time at which the session was created, in milliseconds since the epoch. */
  sessionCreatedAt: number;
  /**
   * The messages of the turn: usually the instruction and the answer. There are more if messages were sent while it
   * ran, and fewer if one of them is empty.
   */
  messages: TranscriptMessage[];
  /** The boot prompt of the conversation context if it is not the built-in one. It is the first message of the file. */
  prompt?: string;
  /** True if the turn failed and did nothing. It is shown, and the next turn continues from the one before it (T12). */
  isNoParent?: boolean;
  /** Returns every turn before this one, oldest first. It is called only if the transcript does not have them. */
  earlier(): Promise<{ turnId: string; messages: TranscriptMessage[] }[]>;
}

/** The start of the next session of a workspace. `warnings` are for the person who starts it. */
export type SessionBeginning =
  /** It begins empty: there was no conversation, or it was cleared, or the file could not be read and was set aside. */
  | { kind: "empty"; warnings: string[] }
  /** It continues the head of this session. */
  | { kind: "session"; sessionId: string; warnings: string[] }
  /**
   * It begins with the messages of the file, because a person edited the file. `adopt` makes the file the transcript of
   * the session that begins with them.
   */
  | { kind: "edited"; messages: TranscriptMessage[]; warnings: string[]; adopt(turn: TranscribedTurn): Promise<void> };

/** Facts about the content of a workspace's `session.md` now. */
export interface ShownTranscript {
  /** The id of the session that wrote it. Null if there is none. */
  sessionId: string | null;
  /** The number of messages. Null if the file cannot be read. */
  messages: number | null;
  bytes: number;
  /** True if a person changed it since. Then the next session begins with its content. */
  isEdited: boolean;
}

/** The content of a workspace's `session.md`, for a person who reads and corrects it (W5). */
export interface TranscriptText {
  /** Empty if there is no file. Null if it is not text, or too large to be shown. */
  text: string | null;
  /** SHA-256 of the bytes of the file. Null if they were not read. */
  hash: string | null;
  bytes: number;
  /** Why the file cannot be read as a conversation. Null if it can. */
  fault: TranscriptFault | null;
}

export interface TranscriptFault {
  /** Completes "the transcript cannot be read: …". */
  reason: string;
  /** The line that is wrong, from 1. Null if it is not one line. */
  line: number | null;
}

export interface TranscriptCorrection {
  text: string;
  /** The hash of the content that the person saw. */
  expectedHash: string;
}
