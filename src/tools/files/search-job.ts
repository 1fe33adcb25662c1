/** What the searching thread is given, and what it says. */

export interface SearchJob {
  /** Absolute, links resolved. */
  folder: string;
  /** Relative to the folder. */
  paths: readonly string[];
  pattern: string;
  isLiteral: boolean;
  ignoreCase: boolean;
  contextLines: number;
  matchesMax: number;
  charactersMax: number;
  lineCharactersMax: number;
  fileBytesMax: number;
  /** One number: which file is being searched, for when the time is up in the middle of it. */
  position: SharedArrayBuffer;
}

export type SearchMessage =
  | { type: "ready" }
  /** The matching lines of one file, ready to be shown: `12:text`, and `11-text` around it. */
  | { type: "file"; path: string; lines: string[]; matches: number }
  /** `tooLarge`: files that were passed over. `isCut`: a bound was reached. */
  | { type: "done"; filesSearched: number; tooLarge: number; isCut: boolean }
  | { type: "fault"; fault: string };
