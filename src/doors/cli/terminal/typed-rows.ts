/** Lays out the typed text on the terminal: rows after a prompt, and the position of the cursor among them. */
import { neutralize } from "../output.ts";
import { cellsOf, chop } from "./cells.ts";

export interface TypedText {
  /** The prompt, in one line. It may have styles. */
  prompt: string;
  before: string;
  after: string;
}

export interface TypedRows {
  rows: string[];
  cursor: { rowsUp: number; column: number };
}

/** Returns at most `rowsMax` rows around the cursor. */
export function typedRows({ prompt, before, after }: TypedText, room: { columns: number; rowsMax: number }): TypedRows {
  const indent = cellsOf(prompt);
  // The last cell of a row stays empty, because terminals differ in where the cursor is there.
  const width = Math.max(1, room.columns - indent - 1);
  const rows: string[] = [];
  let cursorRow = 0;
  let column = 0;
  const [linesBefore, linesAfter] = [shownLines(before), shownLines(after)];
  const lastBefore = linesBefore.length - 1;
  const lines = [
    ...linesBefore.slice(0, lastBefore),
    (linesBefore[lastBefore] ?? "") + (linesAfter[0] ?? ""),
    ...linesAfter.slice(1),
  ];
  for (const [at, line] of lines.entries()) {
    if (at === lastBefore) {
      const upTo = chop(linesBefore[lastBefore] ?? "", width);
      cursorRow = rows.length + upTo.length - 1;
      column = cellsOf(upTo.at(-1) ?? "");
    }
    rows.push(...chop(line, width));
  }
  const first = Math.max(0, Math.min(cursorRow - Math.floor(room.rowsMax / 2), rows.length - room.rowsMax));
  const shown = rows.slice(first, first + room.rowsMax);
  return {
    rows: shown.map((row, at) => (first + at === 0 ? prompt : " ".repeat(indent)) + row),
    cursor: { rowsUp: first + shown.length - 1 - cursorRow, column: indent + column },
  };
}

function shownLines(text: string): string[] {
  return neutralize(text).replaceAll("\t", "    ").split("\n");
}
