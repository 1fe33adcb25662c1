/** Sets blocks of Markdown as lines for a terminal. Control characters were already removed from the text. */
import type { MarkedToken, Token, Tokens } from "marked";
import type { OutputStyle } from "../output.ts";
import { cellsOf } from "./cells.ts";
import { codeColours } from "./code-colours.ts";
import { markdownTable } from "./markdown-table.ts";
import { wrap, type PaintText, type TextSpan } from "./spans.ts";

export interface MarkdownLook {
  style: OutputStyle;
  /** The width of a line in cells. Code is not broken; the terminal wraps it. */
  width: number;
}

/** The depth of nesting that is set. Deeper blocks are shown as they were written. */
const depthMax = 12;
const lineWidthMin = 8;
const ruleWidthMax = 40;

/** Sets one block, without blank lines around it. */
export function blockLines(block: Token, look: MarkdownLook, depth = 0): string[] {
  const { style, width } = look;
  if (depth > depthMax) return rawLines(block.raw);
  const token = block as MarkedToken;
  switch (token.type) {
    case "heading":
      return headingLines(token, look);
    case "paragraph":
    case "text":
      return wrap(inline(token.tokens ?? [token], { paint: String, style, depth: 0 }), width);
    case "list":
      return listLines(token, look, depth);
    case "blockquote":
      return quoteLines(token, look, depth);
    case "code":
      return codeLines(token, style);
    case "hr":
      return [style.dim("─".repeat(Math.min(width, ruleWidthMax)))];
    case "table":
      return markdownTable(token, {
        style,
        width,
        cellLines: (cell, cells) => wrap(inline(cell.tokens, { paint: String, style, depth: 0 }), cells),
      });
    case "space":
      return [];
    default:
      return rawLines(token.raw);
  }
}

/** Sets several blocks, with the blank lines between them that the source has. */
export function documentLines(blocks: readonly Token[], look: MarkdownLook, depth = 0): string[] {
  return joined(blocks, (block) => blockLines(block, look, depth));
}

function joined<T extends { type: string; raw: string }>(parts: readonly T[], set: (part: T, at: number) => string[]) {
  const lines: string[] = [];
  let hasGap = false;
  for (const [at, part] of parts.entries()) {
    const own = set(part, at);
    if (own.length > 0 && lines.length > 0 && hasGap) lines.push("");
    lines.push(...own);
    hasGap = endsWithGap(part, own.length === 0 && hasGap);
  }
  return lines;
}

/** Returns true if a blank line follows a block. `before`: a blank line is already there. */
export function endsWithGap(block: { type: string; raw: string }, before: boolean): boolean {
  return before || block.type === "space" || /\n[ \t]*\n$/.test(block.raw);
}

/** Splits blocks into the smallest parts that can be shown alone: each item of a list is one. */
export function units(blocks: readonly Token[]): Token[] {
  return (blocks as readonly MarkedToken[]).flatMap((block): Token[] => {
    if (block.type !== "list") return [block];
    const first = typeof block.start === "number" ? block.start : 1;
    return block.items.map((item, at) => ({
      ...block,
      raw: item.raw,
      items: [item],
      ...(block.ordered && { start: first + at }),
    }));
  });
}

function rawLines(raw: string): string[] {
  return withoutTabs(raw.replace(/\n+$/, "")).split("\n");
}

/**
 * The width of a tab depends on its column, and a line is measured before it has one. So each tab becomes four blanks.
 */
function withoutTabs(text: string): string {
  return text.replaceAll("\t", "    ");
}

function headingLines({ depth, tokens }: Tokens.Heading, { style, width }: MarkdownLook): string[] {
  const paint: PaintText = (text) => style.bold(depth < 3 ? style.cyan(text) : text);
  const mark: TextSpan = { text: `${"#".repeat(depth)} `, paint: style.dim };
  return wrap([mark, ...inline(tokens, { paint, style, depth: 0 })], width);
}

function listLines(list: Tokens.List, look: MarkdownLook, depth: number): string[] {
  const first = typeof list.start === "number" ? list.start : 1;
  return joined(list.items, (item, at) => {
    const mark = list.ordered ? `${first + at}. ` : "• ";
    const width = Math.max(lineWidthMin, look.width - mark.length);
    const lines = itemLines(item, { ...look, width }, depth + 1);
    return lines.map((line, row) => withFront(row === 0 ? look.style.cyan(mark) : " ".repeat(mark.length), line));
  });
}

/**
 * Sets an item of a list. Its parts, such as a text and a nested list, have a blank line between them only if the
 * source has one.
 */
function itemLines(item: Tokens.ListItem, look: MarkdownLook, depth: number): string[] {
  const box = item.task ? look.style.dim(item.checked === true ? "[x] " : "[ ] ") : "";
  const blocks = item.tokens.filter((token) => token.type !== "checkbox");
  const width = Math.max(lineWidthMin, look.width - cellsOf(box));
  const [first = "", ...rest] = documentLines(blocks, { ...look, width }, depth);
  return [box + first, ...rest];
}

function withFront(front: string, line: string): string {
  return line === "" ? "" : `${front}${line}`;
}

function quoteLines({ tokens }: Tokens.Blockquote, look: MarkdownLook, depth: number): string[] {
  const { dim } = look.style;
  const inner = documentLines(tokens, { ...look, width: Math.max(lineWidthMin, look.width - 2) }, depth + 1);
  return inner.map((line) => `${dim("│")} ${line}`);
}

function codeLines({ raw, text }: Tokens.Code, style: OutputStyle): string[] {
  const fence = fenceOf(raw);
  if (fence === null)
    return withoutTabs(text)
      .split("\n")
      .map((line) => `    ${line}`);
  const inside = raw
    .replace(/\n$/, "")
    .split("\n")
    .slice(1, fence.isClosed ? -1 : undefined);
  const paint = codeColours(fence.language, style);
  const end = fence.isClosed ? [style.dim(fence.mark)] : [];
  return [fenceLine(fence, style), ...inside.map((line) => paint(codeLine(fence, line))), ...end];
}

export function fenceLine({ mark, language }: CodeFence, { dim }: OutputStyle): string {
  return dim(`${mark}${language}`);
}

/** Returns a line of code without the indentation of its fence. */
export function codeLine({ indent }: CodeFence, line: string): string {
  return withoutTabs(line.replace(new RegExp(`^ {0,${indent}}`), ""));
}

export interface CodeFence {
  /** Three or more backticks or tildes. */
  mark: string;
  language: string;
  indent: number;
  isClosed: boolean;
}

/** Returns the fence of a code block. Null if the code is indented instead. */
export function fenceOf(raw: string): CodeFence | null {
  const opening = /^( {0,3})(`{3,}|~{3,})[ \t]*([^\s`]*)/.exec(raw);
  if (opening === null) return null;
  const [, indent = "", mark = "", language = ""] = opening;
  const lines = raw.replace(/\n+$/, "").split("\n");
  return { mark, language, indent: indent.length, isClosed: lines.length > 1 && closes(lines.at(-1) ?? "", mark) };
}

/** Returns true if a line closes the block that this fence opened. */
export function closes(line: string, mark: string): boolean {
  const found = /^ {0,3}(`{3,}|~{3,})[ \t]*$/.exec(line)?.[1];
  return found !== undefined && found.startsWith(mark);
}

const entities: Record<string, string> = { amp: "&", lt: "<", gt: ">", quot: '"', "#39": "'", nbsp: "\u00a0" };

interface InlineLook {
  paint: PaintText;
  style: OutputStyle;
  depth: number;
}

/** Sets inline text. Without styles the marks stay, because nothing else would show emphasis and code. */
function inline(tokens: readonly Token[], look: InlineLook): TextSpan[] {
  const { paint, style } = look;
  if (style.isColorSupported) return tokens.flatMap((token) => inlineSpans(token as MarkedToken, look));
  return tokens.map(({ type, raw }) => ({ text: type === "br" ? "\n" : raw.replaceAll("\n", " "), paint }));
}

function inlineSpans(token: MarkedToken, look: InlineLook): TextSpan[] {
  const { paint, style } = look;
  switch (token.type) {
    case "strong":
      return painted(token, style.bold, look);
    case "em":
      return painted(token, style.italic, look);
    case "del":
      return painted(token, style.strikethrough, look);
    case "codespan":
      return [{ text: token.text, paint: (text) => paint(style.yellow(text)) }];
    case "link":
      return [...painted(token, style.underline, look), ...address(token, style)];
    case "image":
      return [{ text: token.text, paint }, ...address(token, style)];
    case "br":
      return [{ text: "\n", paint }];
    case "escape":
      return [{ text: token.text, paint }];
    case "text":
      return token.tokens === undefined ? [{ text: plainText(token.text), paint }] : inline(token.tokens, look);
    default:
      return [{ text: token.raw, paint }];
  }
}

/** Sets text with nested marks. It has the styles of all of them. */
function painted({ tokens, raw }: { tokens: Token[]; raw: string }, more: PaintText, look: InlineLook): TextSpan[] {
  const { paint, depth } = look;
  if (depth > depthMax) return [{ text: raw, paint }];
  return inline(tokens, { ...look, paint: (text) => paint(more(text)), depth: depth + 1 });
}

/** Shows the address of a link beside its text, because the two may differ. */
function address({ text, href }: { text: string; href: string }, { dim }: OutputStyle): TextSpan[] {
  if (href === text || href === `mailto:${text}` || href === "") return [];
  return [{ text: ` (${href})`, paint: dim }];
}

/** Replaces a line feed within a paragraph by a blank, and the most common entities by their characters. */
function plainText(text: string): string {
  return text
    .replaceAll("\n", " ")
    .replaceAll(/&(amp|lt|gt|quot|#39|nbsp);/g, (all, name: string) => entities[name] ?? all);
}
