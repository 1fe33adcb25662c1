/** How much room text takes on a terminal, in cells: most characters take one, East Asian and pictures two, accents none. */
import { stripVTControlCharacters } from "node:util";
import { eastAsianWidth } from "get-east-asian-width";

const segmenter = new Intl.Segmenter(undefined, { granularity: "grapheme" });
const plain = /^[\x20-\x7e]*$/;
const takesNothing = /^[\p{Mark}\p{Default_Ignorable_Code_Point}\p{Cf}]+$/u;
const picture = /\p{Emoji_Presentation}|\p{Emoji}\ufe0f/u;
const newline = /\n/;

/** What a person sees as one character each: a letter with its accents, a picture of several code points. */
export function graphemes(text: string): string[] {
  if (plain.test(text)) return text.split("");
  return Array.from(segmenter.segment(text), ({ segment }) => segment);
}

/** Cells of one grapheme. */
function cellsOfGrapheme(grapheme: string): number {
  if (grapheme.length === 1 && plain.test(grapheme)) return 1;
  if (newline.test(grapheme) || takesNothing.test(grapheme)) return 0;
  return picture.test(grapheme) ? 2 : eastAsianWidth(grapheme.codePointAt(0) ?? 0);
}

/** Cells of a line; styles take none. */
export function cellsOf(line: string): number {
  const text = line.includes("\u001b") ? stripVTControlCharacters(line) : line;
  if (plain.test(text)) return text.length;
  return graphemes(text).reduce((sum, each) => sum + cellsOfGrapheme(each), 0);
}

/** Terminal rows of a line that is written past the right edge: a wide character that does not fit begins the next row. */
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

/** At most so many cells of an unstyled text, its end replaced by `…` where there is more. */
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

/** An unstyled text in pieces of at most so many cells, none of them empty but for an empty text. */
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
