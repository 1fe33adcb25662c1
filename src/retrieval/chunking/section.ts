/** The contract between the cutter and the parsers of languages. */

/** A range of lines that belong together. Lines count from 1 and include both ends. */
export interface SourceSection {
  startLine: number;
  endLine: number;
  /** The name of the definition, qualified by what contains it: `RecordStore.openTurn`. */
  symbol: string | null;
  /** Returns finer sections of the same range, in order. It is called only if the section is too long. */
  parts?: () => SourceSection[];
}

/** Reads the sections of a text and passes them to `use`, which may use them only during the call. Null if the text cannot be parsed. */
export interface LanguageSyntax {
  read<T>(text: string, use: (sections: SourceSection[] | null) => T): T;
}
