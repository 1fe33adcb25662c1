/** Replaces exact text, and describes the likely mistake if the text to find does not occur. */
import { distance } from "fastest-levenshtein";
import { limits } from "../../domain/limits.ts";
import { ToolFault } from "../tool-fault.ts";

export interface TextReplacement {
  find: string;
  replace: string;
  all: boolean;
}

export interface ReplacedText {
  text: string;
  /** The line numbers in the old text at which the replacements begin, from 1. */
  lines: number[];
}

const positionsMax = 100_000;

/**
 * Replaces the text. Throws a ToolFault if the text does not occur, occurs more than once without `all`, or if the result
 * is too large. Keeps the file's line endings. The time is proportional to the length of the texts, whatever they
 * contain, because the view of a call runs before a person is asked to allow it.
 */
export function replaceExactText(text: string, replacement: TextReplacement): ReplacedText {
  const { find, replace, all } = inFileForm(text, replacement);
  const positions = positionsOf(text, find, positionsMax + 1);
  if (positions.length === 0) throw new ToolFault(notFoundText(text, replacement));
  if (positions.length > positionsMax) {
    throw new ToolFault(`the text to find occurs more than ${positionsMax} times; use a command to change them all`);
  }
  const lines = linesAt(text, positions);
  if (positions.length > 1 && !all) {
    throw new ToolFault(
      `the text to find occurs ${positions.length} times, at lines ${listed(lines)}; add lines around it until it occurs once, or set "all"`,
    );
  }
  const characters = text.length + positions.length * (replace.length - find.length);
  // Each character has at least one byte. A result that is larger because of long characters is found when it is written.
  if (characters > limits.toolFileBytesMax) {
    throw new ToolFault(
      `the file would have ${characters} characters; at most ${limits.toolFileBytesMax} bytes can be written`,
    );
  }
  // String.replaceAll would interpret `$&` and similar patterns in the replacement.
  return { text: text.split(find).join(replace), lines };
}

/** Returns the content with the line endings and the byte order mark of a file. Models write line feeds and no mark, and many editors show none. */
export function inFormOf(file: string, content: string): string {
  const ended = isCrLf(file) && !content.includes("\r\n") ? asCrLf(content) : content;
  return file.startsWith("\ufeff") && !ended.startsWith("\ufeff") ? `\ufeff${ended}` : ended;
}

/** Returns true if all lines of a text end in CR LF. */
function isCrLf(text: string): boolean {
  return text.includes("\r\n") && !/(^|[^\r])\n/.test(text);
}

function asCrLf(text: string): string {
  return text.replace(/\r?\n/g, "\r\n");
}

/** Returns the replacement with the file's line endings, because models write line feeds. In a file with mixed endings, the form that occurs is used. */
function inFileForm(text: string, { find, replace, all }: TextReplacement): TextReplacement {
  const isMixed = text.includes("\r\n") && !has(text, find) && has(text, asCrLf(find));
  if (!isCrLf(text) && !isMixed) return { find, replace, all };
  return { find: asCrLf(find), replace: asCrLf(replace), all };
}

/** Returns the positions of the text. Matches do not overlap. */
function positionsOf(text: string, find: string, max: number): number[] {
  const positions: number[] = [];
  const at = finder(find);
  for (
    let position = at(text, 0);
    position !== -1 && positions.length < max;
    position = at(text, position + find.length)
  ) {
    positions.push(position);
  }
  return positions;
}

function has(text: string, find: string): boolean {
  return finder(find)(text, 0) !== -1;
}

/** The longest text for `indexOf`, which finds short texts fast in any text. */
const plainCharactersMax = 64;

/** Returns a search for a text. `indexOf` may take time proportional to the product of both lengths; a long text uses the algorithm of Knuth, Morris and Pratt instead. */
function finder(find: string): (text: string, from: number) => number {
  if (find.length <= plainCharactersMax) return (text, from) => text.indexOf(find, from);
  const known = overlaps(find);
  return (text, from) => {
    let fits = 0;
    for (let at = from; at < text.length; at++) {
      const letter = text.charCodeAt(at);
      while (fits > 0 && find.charCodeAt(fits) !== letter) fits = known[fits - 1] ?? 0;
      if (find.charCodeAt(fits) === letter) fits++;
      if (fits === find.length) return at - fits + 1;
    }
    return -1;
  };
}

/** Returns the failure table: for each prefix, the length of its longest proper suffix that is also a prefix. */
function overlaps(find: string): Int32Array {
  const known = new Int32Array(find.length);
  for (let at = 1, fits = 0; at < find.length; at++) {
    const letter = find.charCodeAt(at);
    while (fits > 0 && find.charCodeAt(fits) !== letter) fits = known[fits - 1] ?? 0;
    if (find.charCodeAt(fits) === letter) fits++;
    known[at] = fits;
  }
  return known;
}

/** Returns the line numbers of ascending positions. */
function linesAt(text: string, positions: readonly number[]): number[] {
  let line = 1;
  let feed = text.indexOf("\n");
  return positions.map((position) => {
    for (; feed !== -1 && feed < position; feed = text.indexOf("\n", feed + 1)) line++;
    return line;
  });
}

function listed(lines: readonly number[]): string {
  return lines.length > 8 ? `${lines.slice(0, 8).join(", ")}, …` : lines.join(", ");
}

/** Describes the most likely mistake, with the file's actual lines, so that the next call can be right. */
function notFoundText(text: string, { find, replace }: TextReplacement): string {
  const findLines = find.split(/\r?\n/);
  const nothing = "the text to find is not in the file";
  if (findLines.every((line) => line === "" || /^\d+\t/.test(line))) {
    return `${nothing}: leave out the line numbers that "read" puts before the lines`;
  }
  const lines = text.split(/\r?\n/);
  const spaced = windowWith(lines, findLines);
  if (spaced !== null) {
    return `${nothing} with this white space; the file has:\n${quoted(lines, spaced, findLines.length)}`;
  }
  const done = replace.trim().length >= 8 ? finder(replace)(text, 0) : -1;
  if (done !== -1)
    return `${nothing}, but the replacement is, at line ${linesAt(text, [done])[0]}; the edit may be done already`;
  const near = nearestWindow(lines, findLines);
  return near === null ? nothing : `${nothing}; the most similar lines are:\n${quoted(lines, near, findLines.length)}`;
}

/** Returns the index of the first lines that differ only in white space, or null. The text may begin and end inside a line. */
function windowWith(lines: readonly string[], findLines: readonly string[]): number | null {
  const bare = (all: readonly string[]): string => all.map((line) => line.replace(/\s+/g, "")).join("\n");
  const wanted = bare(findLines);
  if (wanted.replaceAll("\n", "") === "") return null;
  const there = bare(lines);
  const at = finder(wanted)(there, 0);
  return at === -1 ? null : (linesAt(there, [at])[0] ?? 1) - 1;
}

const compared = { lines: 20_000, characters: 200, share: 0.4 } as const;

/** Returns the index of the lines that are most similar to the text, judged by its longest line. Null if no line is similar. */
function nearestWindow(lines: readonly string[], findLines: readonly string[]): number | null {
  const trimmed = findLines.map((line) => line.trim());
  const longest = trimmed.reduce((best, line, index) => (line.length > (trimmed[best] ?? "").length ? index : best), 0);
  const wanted = (trimmed[longest] ?? "").slice(0, compared.characters);
  let best = { index: -1, edits: Math.floor(wanted.length * compared.share) + 1 };
  for (const [index, line] of lines.slice(0, compared.lines).entries()) {
    const there = line.trim().slice(0, compared.characters);
    if (Math.abs(there.length - wanted.length) >= best.edits) continue;
    const edits = distance(there, wanted);
    if (edits < best.edits) best = { index, edits };
  }
  return best.index === -1 ? null : Math.max(0, best.index - longest);
}

const quotedLinesMax = 20;

function quoted(lines: readonly string[], from: number, count: number): string {
  return lines
    .slice(from, from + Math.min(count, quotedLinesMax))
    .map((line, index) => `${from + index + 1}\t${line.slice(0, 400)}`)
    .join("\n");
}
