/** What history costs (B7). All sizes are bytes as they are stored: packed, and without what other turns have. */

/** The room of some turns. */
export interface HistorySize {
  turns: number;
  bytes: number;
  /** The length of the exact requests that were sent to models. What they repeat of earlier turns is stored with these. */
  requestBytes: number;
  byKind: SizeByKind;
}

export interface SizeByKind {
  /** The instruction, the message and the first request. */
  opening: number;
  /** The requests of later model calls. */
  requests: number;
  /** The events, the responses, and long outputs of tools. */
  run: number;
  /** What the turn added to the history. */
  state: number;
  /** The parts of the input, for example images. */
  input: number;
  rows: number;
  /** The texts for the search. */
  texts: number;
  /** What a running turn needs, and what a crash left. */
  other: number;
}

export interface TurnSize extends Omit<HistorySize, "turns"> {
  turnId: string;
  sequence: number;
}

export interface SessionSize {
  sessionId: string;
  /** The turns of the session itself. Boot prompts, which all turns share, are not counted. */
  total: HistorySize;
  /** The turns of other sessions that its history begins with. They are stored there. */
  inheritedTurns: number;
  /** What a purge would free, and what it would keep because other sessions need it. Null: the caller may not purge it. */
  purge: { bytes: number; keptTurns: number; keptBytes: number } | null;
  /** The newest first. */
  turns: TurnSize[];
}

/** The sessions that the caller may see. */
export interface SizeOverview {
  sessionCount: number;
  total: HistorySize;
  /** The largest first. */
  sessions: { id: string; name: string; turns: number; bytes: number }[];
  /** True if there are more sessions than one overview reads. */
  isPartial: boolean;
}
