/**
 * Markdown that is shown while it streams. Blocks, and items of lists, that have ended become lines that never change.
 * Only the open block is set again. The result depends on the text alone and not on the pieces it arrived in, because
 * the end of a block is decided line by line.
 */
import type { Token } from "marked";
import { codeColours, type PaintCode } from "./code-colours.ts";
import {
  blockLines,
  closes,
  codeLine,
  endsWithGap,
  fenceLine,
  fenceOf,
  units,
  type CodeFence,
  type MarkdownLook,
} from "./markdown-lines.ts";

/** Parses a text into blocks. */
export type LexMarkdown = (text: string) => Token[];

/** The longest open block in characters. A longer one is treated as ended, so that repainting stays cheap. */
const openCharactersMax = 8_192;
/**
 * The boundary between finished and coming lines: whether the source has a blank line there, and whether any line is
 * finished.
 */
interface Place {
  hasGap: boolean;
  isBegun: boolean;
}

/** A line that can end the block before it, or begin another block. */
const mayEndBlock = /^\s*$|^\s*(?:#|`{3}|~{3}|[-*_=+>]|\d)/;

export class MarkdownStream {
  readonly #lex: LexMarkdown;
  readonly #look: () => MarkdownLook;
  /** The text of the open block up to its last line feed. */
  #lines = "";
  /** The line that has not ended yet. */
  #rest = "";
  /** The open block of fenced code. Its lines are finished one by one. */
  #code: { fence: CodeFence; paint: PaintCode } | null = null;
  #place: Place = { hasGap: false, isBegun: false };
  #wasBlank = false;
  #done: string[] = [];

  constructor(lex: LexMarkdown, look: () => MarkdownLook) {
    this.#lex = lex;
    this.#look = look;
  }

  /** Adds text without control characters, in pieces of any size. */
  push(text: string): void {
    const lines = (this.#rest + text).split("\n");
    this.#rest = lines.pop() ?? "";
    for (const line of lines) this.#line(line);
    if (this.#rest.length > openCharactersMax) this.#endLine();
  }

  /** Ends the stream and finishes all lines. */
  end(): void {
    if (this.#rest !== "") this.#endLine();
    this.#close(this.#units(this.#lines));
    this.#lines = "";
    this.#code = null;
  }

  /** Returns the lines that were finished since the last call. */
  takeDone(): string[] {
    const done = this.#done;
    this.#done = [];
    return done;
  }

  /** Returns the lines of the open block as it looks at this moment. */
  openLines(): string[] {
    if (this.#code !== null) return this.#rest === "" ? [] : [codeLine(this.#code.fence, this.#rest)];
    const open = this.#units(this.#lines + this.#rest);
    const place = { ...this.#place };
    return open.flatMap((unit) => withGap(unit, blockLines(unit, this.#look()), place));
  }

  /** Breaks a line that is too long. */
  #endLine(): void {
    const line = this.#rest;
    this.#rest = "";
    this.#line(line);
  }

  #line(line: string): void {
    if (this.#code !== null) return this.#lineOfCode(this.#code, line);
    this.#lines += `${line}\n`;
    if (this.#wasBlank || mayEndBlock.test(line)) this.#settle();
    this.#wasBlank = line.trim() === "";
    if (this.#lines.length <= openCharactersMax) return;
    this.#close(this.#units(this.#lines));
    this.#lines = "";
  }

  /** Finishes all blocks but the last. */
  #settle(): void {
    const all = this.#units(this.#lines);
    const last = all.findLastIndex(({ type }) => type !== "space");
    const open = all[last];
    if (open === undefined) return;
    this.#close(all.slice(0, last));
    this.#lines = this.#lines.slice(all.slice(0, last).reduce((sum, { raw }) => sum + raw.length, 0));
    const fence = open.type === "code" ? fenceOf(open.raw) : null;
    if (fence !== null && !fence.isClosed) this.#beginCode(open, fence);
  }

  #beginCode(open: Token, fence: CodeFence): void {
    const { style } = this.#look();
    const inside = this.#lines.split("\n").slice(1, -1);
    this.#lines = "";
    this.#done.push(...withGap(open, [fenceLine(fence, style)], this.#place));
    this.#code = { fence, paint: codeColours(fence.language, style) };
    for (const line of inside) this.#line(line);
  }

  #lineOfCode({ fence, paint }: { fence: CodeFence; paint: PaintCode }, line: string): void {
    if (!closes(line, fence.mark)) {
      this.#done.push(paint(codeLine(fence, line)));
      return;
    }
    this.#done.push(this.#look().style.dim(fence.mark));
    this.#code = null;
  }

  #close(ended: readonly Token[]): void {
    for (const unit of ended) this.#done.push(...withGap(unit, blockLines(unit, this.#look()), this.#place));
  }

  /** Parses the text. Nesting that is too deep for the parser is shown as it was written. */
  #units(text: string): Token[] {
    try {
      return units(this.#lex(text));
    } catch {
      return [{ type: "html", raw: text }];
    }
  }
}

/** Returns the lines of a block with the blank line before it, and moves the boundary behind the block. */
function withGap(block: Token, lines: readonly string[], place: Place): readonly string[] {
  const needsGap = place.hasGap && place.isBegun && lines.length > 0;
  place.hasGap = endsWithGap(block, lines.length === 0 && place.hasGap);
  place.isBegun ||= lines.length > 0;
  return needsGap ? ["", ...lines] : lines;
}
