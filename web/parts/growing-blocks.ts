/**
 * The blocks of a Markdown text that grows. Only the end of the text is read again, and only the newest blocks are kept, so that each
 * piece of a long answer costs the same as the first.
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

export class GrowingBlocks {
  #kept: Block[] = [];
  #open: Block[] = [];
  #closedCount = 0;
  #closedLength = 0;
  /** The last characters that are closed. */
  #closedEnd = "";
  #text = "";

  of(text: string): ShownBlocks {
    if (text !== this.#text) this.#read(text);
    return { hidden: this.#closedCount - this.#kept.length, blocks: [...this.#kept, ...this.#open] };
  }

  #read(text: string): void {
    const continues =
      text.length >= this.#text.length &&
      text.slice(this.#closedLength - this.#closedEnd.length, this.#closedLength) === this.#closedEnd;
    if (!continues) this.#forget();
    this.#text = text;
    const end = text.slice(this.#closedLength);
    const tokens = Lexer.lex(end);
    this.#open = tokens.map((token, at) => ({ key: this.#closedCount + at, token }));
    // The last two blocks may still change: a line can join a paragraph, a list or a table above it.
    const closing = this.#open.slice(0, -2);
    const raw = closing.map(({ token }) => token.raw).join("");
    // The lexer changes line ends and some blanks. Then lengths do not add up, and the blocks stay open.
    if (raw === "" || !end.startsWith(raw)) return;
    this.#kept.push(...closing);
    if (this.#kept.length > 2 * blocksMax) this.#kept = this.#kept.slice(-blocksMax);
    this.#closedCount += closing.length;
    this.#closedLength += raw.length;
    this.#closedEnd = raw.slice(-comparedCharacters);
    this.#open = this.#open.slice(closing.length);
  }

  #forget(): void {
    this.#kept = [];
    this.#closedCount = 0;
    this.#closedLength = 0;
    this.#closedEnd = "";
  }
}

/** Returns every block of a text. */
export function allBlocks(text: string): ShownBlocks {
  return { hidden: 0, blocks: Lexer.lex(text).map((token, key) => ({ key, token })) };
}
