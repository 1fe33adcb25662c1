/**
 * The blocks of a Markdown text that grows. Only the end of the text is read again, and only the newest blocks are kept, so that each
 * piece of a long answer costs the same as the first. A block that is very long becomes several.
 */
import { Lexer, type Token } from "marked";

export interface Block {
  key: number;
  token: Token;
}

export interface ShownBlocks {
  /** How many blocks come before the first one of `blocks`. */
  hidden: number;
  blocks: readonly Block[];
}

/** The most blocks that are kept. When there are twice as many, the older half goes. */
const blocksMax = 200;
/** How many characters before the open end are compared, to see whether the text is the earlier one with more at its end. */
const comparedCharacters = 64;
/** Text is read in steps of this many characters, and an open end that is longer than the second number is cut: reading can take quadratic time. */
const stepCharacters = 8_000;
const openCharactersMax = 16_000;

export class GrowingBlocks {
  readonly #blocksMax: number;
  #kept: Block[] = [];
  #open: Block[] = [];
  #closedCount = 0;
  #closedLength = 0;
  /** The last characters that are closed. */
  #closedEnd = "";
  /** The first line of the code in which the open end begins, if code was cut. */
  #fence = "";
  #text = "";

  constructor(max = blocksMax) {
    this.#blocksMax = max;
  }

  of(text: string): ShownBlocks {
    if (text !== this.#text) this.#read(text);
    return { hidden: this.#closedCount - this.#kept.length, blocks: [...this.#kept, ...this.#open] };
  }

  #read(text: string): void {
    const continues =
      text.length >= this.#text.length &&
      text.slice(this.#closedLength - this.#closedEnd.length, this.#closedLength) === this.#closedEnd;
    if (!continues) this.#forget();
    for (let to = continues ? this.#text.length : 0; to < text.length;) {
      to = Math.min(text.length, to + stepCharacters);
      this.#readTo(text, to);
    }
    this.#text = text;
  }

  #readTo(text: string, to: number): void {
    const end = text.slice(this.#closedLength, to);
    this.#open = this.#blocksOf(Lexer.lex(this.#fence + end));
    // The last two blocks may still change: a line can join a paragraph, a list or a table above it.
    const closing = this.#open.slice(0, -2);
    const raw = closing.map(({ token }) => token.raw).join("");
    // The lexer changes line ends and some blanks. Then lengths do not add up, and the blocks stay open.
    if (raw.length > this.#fence.length && (this.#fence + end).startsWith(raw)) {
      this.#close(closing, end.slice(0, raw.length - this.#fence.length));
      this.#fence = "";
    }
    if (to - this.#closedLength > openCharactersMax) this.#cut(text.slice(this.#closedLength, to));
  }

  /** Closes most of an open end that is too long. Code that is cut goes on as code. */
  #cut(end: string): void {
    const piece = end.slice(0, cutOf(end));
    const tokens = Lexer.lex(this.#fence + piece);
    const last = tokens.findLast(({ type }) => type !== "space");
    this.#close(this.#blocksOf(tokens), piece);
    this.#fence = last?.type === "code" ? openFence(last.raw) : "";
    this.#open = this.#blocksOf(Lexer.lex(this.#fence + end.slice(piece.length)));
  }

  #blocksOf(tokens: readonly Token[]): Block[] {
    return tokens.map((token, at) => ({ key: this.#closedCount + at, token }));
  }

  #close(blocks: readonly Block[], raw: string): void {
    this.#kept.push(...blocks);
    if (this.#kept.length > 2 * this.#blocksMax) this.#kept = this.#kept.slice(-this.#blocksMax);
    this.#closedCount += blocks.length;
    this.#closedLength += raw.length;
    this.#closedEnd = raw.slice(-comparedCharacters);
    this.#open = this.#open.slice(blocks.length);
  }

  #forget(): void {
    this.#kept = [];
    this.#closedCount = 0;
    this.#closedLength = 0;
    this.#closedEnd = "";
    this.#fence = "";
  }
}

/** Returns where a long text is cut: after a line, else after a word, else near its end. */
function cutOf(text: string): number {
  for (const mark of ["\n", " "]) {
    const at = text.lastIndexOf(mark) + 1;
    if (at > text.length / 2) return at;
  }
  // The two halves of a character stay together.
  return /[\ud800-\udbff]$/.test(text) ? text.length - 1 : text.length;
}

/** Returns the first line of fenced code that is not closed. Empty: it is closed, or has no fence. */
function openFence(raw: string): string {
  const [line = "", fence = ""] = /^ {0,3}(`{3,}|~{3,}).*\n/.exec(raw) ?? [];
  return new RegExp(`\\n {0,3}${fence}\\s*$`).test(raw) ? "" : line;
}

/** Returns every block of a text. */
export function allBlocks(text: string): ShownBlocks {
  return new GrowingBlocks(Infinity).of(text);
}
