/** What a person wants to run again, until the dialog is closed. */
import { signal } from "@preact/signals";
import type { Thread } from "../api/thread.ts";

/** What of a turn is asked to be repeated. The list of turns and the inspector both know it. */
export interface RepeatedTurn {
  id: string;
  sessionId: string;
  sequence: number;
  parentId: string | null;
  status: string;
  mode: string;
  model: string;
  provider: string;
}

export interface RunAgainAsked {
  thread: Thread;
  turn: RepeatedTurn;
  /** A file that the turn left out and that is to be sent. Null: none. */
  file: { path: string; isTooLarge: boolean; isInRepository: boolean } | null;
}

export const runAgainAsked = signal<RunAgainAsked | null>(null);
