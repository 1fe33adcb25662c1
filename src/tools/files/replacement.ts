/** Exact replacement in a text, and what to say where the text to find is not there as it was said. */
import { distance } from "fastest-levenshtein";
import { ToolFault } from "../tool-fault.ts";

export interface Replacement {
  find: string;
  replace: string;
  all: boolean;
}

export interface Replaced {
  text: string;
  /** Lines at which replacements begin, from 1, in the old text. */
  lines: number[];
}

/** Throws a ToolFault where the text is not there, or more than once without `all`. Line endings are the file's. */
export function replaced(text: string, replacement: Replacement): Replaced {
  const { find, replace, all } = inFileForm(text, replacement);
  const places = placesOf(text, find);
  if (places.length === 0) throw new ToolFault(notFoundText(text, replacement));
  const lines = linesAt(text, places);
  if (places.length > 1 && !all) {
    throw new ToolFault(
      `the text to find is there ${places.length} times, at lines ${listed(lines)}; add lines around it until it is there once, or set "all"`,
    );
  }
  // Not String.replaceAll: it reads `$&` and its like in the replacement.
  return { text: text.split(find).join(replace), lines };
}

/** Whether all lines of a text end in CR LF. */
export function isCrLf(text: string): boolean {
  return text.includes("\r\n") && !/(^|[^\r])\n/.test(text);
}

export function asCrLf(text: string): string {
  return text.replace(/\r?\n/g, "\r\n");
}

/** Models write line feeds. In a file with mixed endings, the part decides in which form it is found. */
function inFileForm(text: string, { find, replace, all }: Replacement): Replacement {
  const isMixed = !text.includes(find) && text.includes(asCrLf(find));
  if (!isCrLf(text) && !isMixed) return { find, replace, all };
  return { find: asCrLf(find), replace: asCrLf(replace), all };
}

function placesOf(text: string, find: string): number[] {
  const places: number[] = [];
  for (let at = text.indexOf(find); at !== -1; at = text.indexOf(find, at + find.length)) places.push(at);
  return places;
}

function linesAt(text: string, places: readonly number[]): number[] {
  let [line, from] = [1, 0];
  return places.map((place) => {
    for (let at = text.indexOf("\n", from); at !== -1 && at < place; at = text.indexOf("\n", from)) {
      line++;
      from = at + 1;
    }
    return line;
  });
}

function listed(lines: readonly number[]): string {
  return lines.length > 8 ? `${lines.slice(0, 8).join(", ")}, …` : lines.join(", ");
}

/** Says the most likely mistake, with the lines as they are, so that the next call can be right. */
function notFoundText(text: string, { find, replace }: Replacement): string {
  const said = find.split(/\r?\n/);
  const nothing = "the text to find is not in the file";
  if (said.every((line) => line === "" || /^\d+\t/.test(line))) {
    return `${nothing}: leave out the line numbers that "read" puts before the lines`;
  }
  const lines = text.split(/\r?\n/);
  const spaced = windowWith(lines, said);
  if (spaced !== null) {
    return `${nothing} with this white space; it is there as:\n${quoted(lines, spaced, said.length)}`;
  }
  const done = replace.trim().length >= 8 ? text.indexOf(replace) : -1;
  if (done !== -1)
    return `${nothing}, but the replacement is, at line ${linesAt(text, [done])[0]}; it may be done already`;
  const near = nearestWindow(lines, said);
  return near === null ? nothing : `${nothing}; the nearest is:\n${quoted(lines, near, said.length)}`;
}

/** The first lines that are the same but for white space. */
function windowWith(lines: readonly string[], said: readonly string[]): number | null {
  const bare = (line: string): string => line.replace(/\s+/g, "");
  const wanted = said.map(bare);
  const have = lines.map(bare);
  if (wanted.join("") === "") return null;
  const isLast = (index: number): boolean => index === wanted.length - 1;
  for (let from = 0; from + wanted.length <= have.length; from++) {
    const fits = wanted.every((line, index) => {
      const there = have[from + index] ?? "";
      // The text may begin in the middle of its first line, and end in the middle of its last.
      if (index === 0 && isLast(index)) return there.includes(line);
      if (index === 0) return there.endsWith(line);
      return isLast(index) ? there.startsWith(line) : there === line;
    });
    if (fits) return from;
  }
  return null;
}

const compared = { lines: 20_000, characters: 200, share: 0.4 } as const;

/** Where the most telling line of the text stands nearly so; null: nothing is like it. */
function nearestWindow(lines: readonly string[], said: readonly string[]): number | null {
  const trimmed = said.map((line) => line.trim());
  const telling = trimmed.reduce((best, line, index) => (line.length > (trimmed[best] ?? "").length ? index : best), 0);
  const wanted = (trimmed[telling] ?? "").slice(0, compared.characters);
  let best = { index: -1, away: Math.floor(wanted.length * compared.share) + 1 };
  for (const [index, line] of lines.slice(0, compared.lines).entries()) {
    const there = line.trim().slice(0, compared.characters);
    if (Math.abs(there.length - wanted.length) >= best.away) continue;
    const away = distance(there, wanted);
    if (away < best.away) best = { index, away };
  }
  return best.index === -1 ? null : Math.max(0, best.index - telling);
}

const quotedLinesMax = 20;

function quoted(lines: readonly string[], from: number, count: number): string {
  return lines
    .slice(from, from + Math.min(count, quotedLinesMax))
    .map((line, index) => `${from + index + 1}\t${line.slice(0, 400)}`)
    .join("\n");
}
