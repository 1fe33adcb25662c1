/**
 * Cuts a file into the pieces that are found and sent (Q1): at functions, classes and methods if a grammar finds them, at
 * headings in Markdown, else at blank lines. Small neighbours stay together, and a piece that is too long is cut at the best
 * line. It is pure: the same text and outline give the same pieces.
 *
 * Every line that is not blank is in exactly one piece, a blank one in at most one. A piece exceeds the limit of characters only
 * if a single line does.
 */
import { limits } from "../../domain/limits.ts";
import { markdownSections, paragraphs } from "./prose-sections.ts";
import type { SourceSection, LanguageSyntax } from "./section.ts";
import { SourceLines } from "./source-lines.ts";

export interface ChunkPiece {
  startLine: number;
  endLine: number;
  symbol: string | null;
  text: string;
}

interface Span {
  startLine: number;
  endLine: number;
  symbols: string[];
}

/** The maximum depth of nesting. Deeper nesting is data or an attack, and is cut by lines. */
const depthMax = 64;
const lineCharactersMeanMax = 1_000;
const symbolsPerPieceMax = 32;
const symbolCharactersMax = 400;

/** Returns the pieces in order. `syntax` is null for languages without a grammar. */
export function chunkFile(file: { text: string; language: string }, syntax: LanguageSyntax | null): ChunkPiece[] {
  const lines = new SourceLines(file.text);
  if (file.language === "markdown") return cut(lines, markdownSections(lines));
  if (syntax === null || isGenerated(lines)) return cut(lines, paragraphs(lines, wholeOf(lines)));
  return syntax.read(file.text, (sections) => cut(lines, sections ?? paragraphs(lines, wholeOf(lines))));
}

/** Returns whether a program wrote the text, by its line length. Such lines are costly to parse, and no grammar could cut inside a line. */
function isGenerated(lines: SourceLines): boolean {
  return lines.text.length / lines.count > lineCharactersMeanMax;
}

function cut(lines: SourceLines, sections: SourceSection[]): ChunkPiece[] {
  const whole = { ...wholeOf(lines), parts: () => sections };
  const spans = disjoint(cover(lines, whole, 0))
    .flatMap((span) => trim(lines, span))
    .flatMap((span) => splitByLines(lines, span));
  return merge(lines, spans).map((span) => ({
    startLine: span.startLine,
    endLine: span.endLine,
    symbol: joinSymbols(span.symbols),
    text: lines.slice(span.startLine, span.endLine),
  }));
}

function wholeOf(lines: SourceLines): SourceSection {
  return { startLine: 1, endLine: lines.count, symbol: null };
}

/** Yields spans that cover a whole section: its parts, refined if they are too long, and the lines between them. */
function* cover(lines: SourceLines, whole: SourceSection, depth: number): Generator<Span> {
  const parts = depth < depthMax ? (whole.parts?.() ?? []) : [];
  if (parts.length === 0) {
    yield spanOf(whole);
    return;
  }
  let nextLine = whole.startLine;
  for (const part of parts) {
    if (nextLine < part.startLine) yield spanOf({ ...whole, startLine: nextLine, endLine: part.startLine - 1 });
    if (fits(lines, part.startLine, part.endLine)) yield spanOf(part);
    else yield* cover(lines, part, depth + 1);
    nextLine = Math.max(nextLine, part.endLine + 1);
  }
  if (nextLine <= whole.endLine) yield spanOf({ ...whole, startLine: nextLine });
}

function spanOf(section: SourceSection): Span {
  return {
    startLine: section.startLine,
    endLine: section.endLine,
    symbols: section.symbol === null ? [] : [section.symbol],
  };
}

/** Joins spans that share a line, because lines cannot separate them. */
function disjoint(spans: Iterable<Span>): Span[] {
  const result: Span[] = [];
  for (const span of spans) {
    const last = result.at(-1);
    if (last !== undefined && span.startLine <= last.endLine) extend(last, span);
    else result.push({ ...span });
  }
  return result;
}

function extend(span: Span, next: Span): void {
  span.endLine = Math.max(span.endLine, next.endLine);
  if (span.symbols.length >= symbolsPerPieceMax) return;
  span.symbols = [...new Set([...span.symbols, ...next.symbols])];
}

/** Returns the span without blank lines at its ends, or nothing if it has only blank lines. */
function trim(lines: SourceLines, span: Span): Span[] {
  let { startLine, endLine } = span;
  while (startLine <= endLine && lines.isBlank(startLine)) startLine += 1;
  while (startLine < endLine && lines.isBlank(endLine)) endLine -= 1;
  return startLine > endLine ? [] : [{ ...span, startLine, endLine }];
}

function fits(lines: SourceLines, startLine: number, endLine: number): boolean {
  return (
    endLine - startLine < limits.chunkLinesMax && lines.characters(startLine, endLine) <= limits.chunkCharactersMax
  );
}

function splitByLines(lines: SourceLines, span: Span): Span[] {
  const pieces: Span[] = [];
  let rest = span;
  while (!fits(lines, rest.startLine, rest.endLine) && rest.startLine < rest.endLine) {
    const next = bestCut(lines, rest);
    pieces.push(...trim(lines, { ...rest, endLine: next - 1 }));
    rest = { ...rest, startLine: next };
  }
  pieces.push(...trim(lines, rest));
  return pieces;
}

/** Returns the line at which the next piece begins: the best boundary in the second half of what fits, the later of two equal ones. */
function bestCut(lines: SourceLines, span: Span): number {
  let last = span.startLine;
  while (last < span.endLine && fits(lines, span.startLine, last + 1)) last += 1;
  let best = last + 1;
  let bestStrength = -1;
  for (let line = last + 1; line > span.startLine + (last - span.startLine) / 2; line -= 1) {
    const strength = boundaryStrength(lines, line, span.endLine);
    if (strength > bestStrength) {
      best = line;
      bestStrength = strength;
    }
  }
  return best;
}

/** Returns how good a line is as the beginning of a piece: best after a blank line, and the less indented the better. */
function boundaryStrength(lines: SourceLines, line: number, endLine: number): number {
  if (line > endLine) return 0;
  const indentation = lines.indentation(line);
  if (indentation === -1) return 0;
  const shallow = 1 / (1 + indentation);
  return lines.isBlank(line - 1) ? 2 + shallow : shallow;
}

/** Merges small neighbours, and joins a span without words (a closing brace) to the span before it. */
function merge(lines: SourceLines, spans: Span[]): Span[] {
  const merged: Span[] = [];
  for (const span of spans) {
    const last = merged.at(-1);
    if (last !== undefined && belongTogether(lines, last, span)) extend(last, span);
    else merged.push({ ...span });
  }
  return merged;
}

function belongTogether(lines: SourceLines, first: Span, second: Span): boolean {
  if (!fits(lines, first.startLine, second.endLine)) return false;
  if (lines.characters(first.startLine, second.endLine) <= limits.chunkMergeCharactersMax) return true;
  return !/[\p{L}\p{N}]/u.test(lines.slice(second.startLine, second.endLine));
}

function joinSymbols(symbols: string[]): string | null {
  if (symbols.length === 0) return null;
  return symbols.join(", ").slice(0, symbolCharactersMax);
}
