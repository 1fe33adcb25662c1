/** The messages to and from the search thread. */

/** The job of a search thread. */
export interface SearchJob {
  /** An absolute path with links resolved. */
  folder: string;
  /** Paths relative to the folder. */
  paths: readonly string[];
  pattern: string;
  isLiteral: boolean;
  ignoreCase: boolean;
  contextLines: number;
  matchesMax: number;
  charactersMax: number;
  lineCharactersMax: number;
  fileBytesMax: number;
  /** One number: the index of the file that is being searched. It names the file if the time runs out during the search. */
  position: SharedArrayBuffer;
}

export type SearchMessage =
  | { type: "ready" }
  /** The matching lines of one file as they are shown: `12:text` for a match, `11-text` for a line around it. */
  | { type: "file"; path: string; lines: string[]; matches: number }
  /** The end of the search. `tooLarge` is the number of files that were skipped. `isCut` is true if a limit was reached. */
  | { type: "done"; filesSearched: number; tooLarge: number; isCut: boolean }
  | { type: "fault"; fault: string };
