/**
 * How wide text is on a terminal, in cells: most characters take one, East Asian ones and emoji take two, combining
 * marks take none.
 */
import { stripVTControlCharacters } from "node:util";
import { eastAsianWidth } from "get-east-asian-width";

const plain = /^[\x20-\x7e]*$/;
const takesNothing = /^[\p{Mark}\p{Default_Ignorable_Code_Point}\p{Cf}]+$/u;
const picture = /\p{Emoji_Presentation}|\p{Emoji}\ufe0f/u;
const newline = /\n/;

/**
 * Splits a text into graphemes, what a person sees as one character: a letter with its accents, an emoji of several
 * code points.
 */
export function graphemes(text: string): string[] {
  if (plain.test(text)) return text.split("");
  // A segmenter takes 10 ms to make, and most text does not need one.
  segmenter ??= new Intl.Segmenter(undefined, { granularity: "grapheme" });
  return Array.from(segmenter.segment(text), ({ segment }) => segment);
}

let segmenter: Intl.Segmenter | undefined;

/** Returns the width of one grapheme in cells. */
function cellsOfGrapheme(grapheme: string): number {
  if (grapheme.length === 1 && plain.test(grapheme)) return 1;
  if (newline.test(grapheme) || takesNothing.test(grapheme)) return 0;
  return picture.test(grapheme) ? 2 : eastAsianWidth(grapheme.codePointAt(0) ?? 0);
}

/** Returns the width of a line in cells. Styles take none. */
export function cellsOf(line: string): number {
  const text = line.includes("\u001b") ? stripVTControlCharacters(line) : line;
  if (plain.test(text)) return text.length;
  return graphemes(text).reduce((sum, each) => sum + cellsOfGrapheme(each), 0);
}

/**
 * Returns how many terminal rows a line takes that is wider than the terminal. A wide character that does not fit
 * begins the next row.
 */
export function rowsOf(line: string, columns: number): number {
  const text = line.includes("\u001b") ? stripVTControlCharacters(line) : line;
  if (plain.test(text)) return Math.max(1, Math.ceil(text.length / columns));
  let rows = 1;
  let column = 0;
  for (const grapheme of graphemes(text)) {
    const cells = cellsOfGrapheme(grapheme);
    if (column + cells > columns) {
      rows += 1;
      column = 0;
    }
    column += cells;
  }
  return rows;
}

/** Cuts an unstyled text to at most `cells` cells. A longer text ends with `…`. */
export function cut(text: string, cells: number): string {
  if (cellsOf(text) <= cells) return text;
  let used = 0;
  let kept = "";
  for (const grapheme of graphemes(text)) {
    used += cellsOfGrapheme(grapheme);
    if (used > cells - 1) break;
    kept += grapheme;
  }
  return cells < 1 ? "" : `${kept}…`;
}

/** Splits an unstyled text into pieces of at most `cells` cells. No piece is empty, unless the text is. */
export function chop(text: string, cells: number): string[] {
  const rows: string[] = [];
  let row = "";
  let used = 0;
  for (const grapheme of graphemes(text)) {
    const more = cellsOfGrapheme(grapheme);
    if (used + more > cells && row !== "") {
      rows.push(row);
      row = "";
      used = 0;
    }
    row += grapheme;
    used += more;
  }
  return row === "" && rows.length > 0 ? rows : [...rows, row];
}
