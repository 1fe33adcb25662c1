/** Text in pieces of different styles, and how it is wrapped into lines that fit the terminal. */
import { cellsOf, chop, graphemes } from "./cells.ts";

export type PaintText = (text: string) => string;

/** A piece of text with its style. A line feed begins a new line; other runs of blanks count as one blank. */
export interface TextSpan {
  text: string;
  paint: PaintText;
}

interface Piece extends TextSpan {
  cells: number;
}

/**
 * Wraps spans into lines of at most `width` cells. Lines are broken at blanks and between wide characters, and within a
 * word that is too long. No style continues over the end of a line. Returns at least one line.
 */
export function wrap(spans: readonly TextSpan[], width: number): string[] {
  const setting = new Setting(Math.max(1, width));
  for (const { text, paint } of spans) {
    for (const [part] of text.matchAll(/\n|[ \t]+|[^ \t\n]+/g)) {
      if (part === "\n") setting.newLine();
      else if (part.trim() === "") setting.blank(paint);
      else setting.add(part, paint);
    }
  }
  return setting.finish();
}

const wide = /[\u1100-\u{10ffff}]/u;

class Setting {
  readonly #width: number;
  readonly #lines: string[] = [];
  #line: Piece[] = [];
  #lineCells = 0;
  /** Pieces that must stay on one line. */
  #word: Piece[] = [];
  #blank: PaintText | null = null;

  constructor(width: number) {
    this.#width = width;
  }

  add(text: string, paint: PaintText): void {
    if (!wide.test(text)) {
      this.#word.push({ text, paint, cells: cellsOf(text) });
      return;
    }
    for (const grapheme of graphemes(text)) {
      const cells = cellsOf(grapheme);
      if (cells > 1) this.#placeWord();
      this.#word.push({ text: grapheme, paint, cells });
      if (cells > 1) this.#placeWord();
    }
  }

  blank(paint: PaintText): void {
    this.#placeWord();
    this.#blank ??= paint;
  }

  newLine(): void {
    this.#placeWord();
    this.#lines.push(painted(this.#line));
    this.#line = [];
    this.#lineCells = 0;
    this.#blank = null;
  }

  finish(): string[] {
    this.newLine();
    return this.#lines;
  }

  #placeWord(): void {
    const cells = this.#word.reduce((sum, piece) => sum + piece.cells, 0);
    if (cells === 0 && this.#word.length === 0) return;
    const blank = this.#blank !== null && this.#line.length > 0 ? 1 : 0;
    const word = this.#word;
    this.#word = [];
    if (this.#line.length > 0 && this.#lineCells + blank + cells > this.#width) this.newLine();
    else if (blank === 1) this.#put({ text: " ", paint: this.#blank ?? String, cells: 1 });
    this.#blank = null;
    for (const piece of cells > this.#width ? this.#torn(word) : word) this.#put(piece);
  }

  /** Splits a word that is wider than a line into pieces that each fill one. */
  *#torn(word: readonly Piece[]): Generator<Piece> {
    for (const { text, paint } of word) {
      for (const grapheme of chop(text, 1)) {
        const cells = cellsOf(grapheme);
        if (this.#lineCells + cells > this.#width && this.#line.length > 0) this.newLine();
        yield { text: grapheme, paint, cells };
      }
    }
  }

  #put(piece: Piece): void {
    this.#line.push(piece);
    this.#lineCells += piece.cells;
  }
}

/** Paints neighbours of one style together, so that a line has no more escape sequences than it needs. */
function painted(line: readonly Piece[]): string {
  let text = "";
  let run = "";
  let paint: PaintText | null = null;
  for (const piece of line) {
    if (piece.paint !== paint && paint !== null) {
      text += paint(run);
      run = "";
    }
    paint = piece.paint;
    run += piece.text;
  }
  return paint === null ? "" : text + paint(run);
}
