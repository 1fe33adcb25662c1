/** Exact replacement in a text, and what to say where the text to find is not there as it was said. */
import { distance } from "fastest-levenshtein";
import { limits } from "../../domain/limits.ts";
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

const placesMax = 100_000;

/**
 * Throws a ToolFault where the text is not there, or more than once without `all`, and for a result that is too large.
 * Line endings are the file's. The time it takes grows with the texts, whatever is in them: a call is looked at before
 * anybody is asked about it.
 */
export function replaced(text: string, replacement: Replacement): Replaced {
  const { find, replace, all } = inFileForm(text, replacement);
  const places = placesOf(text, find, placesMax + 1);
  if (places.length === 0) throw new ToolFault(notFoundText(text, replacement));
  if (places.length > placesMax) {
    throw new ToolFault(`the text to find is there more than ${placesMax} times; use a command to change them all`);
  }
  const lines = linesAt(text, places);
  if (places.length > 1 && !all) {
    throw new ToolFault(
      `the text to find is there ${places.length} times, at lines ${listed(lines)}; add lines around it until it is there once, or set "all"`,
    );
  }
  const characters = text.length + places.length * (replace.length - find.length);
  // Each takes at least one byte; what comes to more by its letters is found when it is written.
  if (characters > limits.toolFileBytesMax) {
    throw new ToolFault(
      `the file would have ${characters} characters; at most ${limits.toolFileBytesMax} bytes can be written`,
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
  const isMixed = text.includes("\r\n") && !has(text, find) && has(text, asCrLf(find));
  if (!isCrLf(text) && !isMixed) return { find, replace, all };
  return { find: asCrLf(find), replace: asCrLf(replace), all };
}

/** Where the text stands, each place behind the end of the one before it. */
function placesOf(text: string, find: string, max: number): number[] {
  const places: number[] = [];
  const at = finder(find);
  for (let place = at(text, 0); place !== -1 && places.length < max; place = at(text, place + find.length)) {
    places.push(place);
  }
  return places;
}

function has(text: string, find: string): boolean {
  return finder(find)(text, 0) !== -1;
}

/** Shorter ones are found fast enough in any text. */
const plainCharactersMax = 64;

/** `indexOf` takes time by the product of both lengths where they are made for it; this is Knuth, Morris and Pratt's. */
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

/** For each beginning of the text: how much of its end is a beginning too. */
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

/** Of places in their order. */
function linesAt(text: string, places: readonly number[]): number[] {
  let line = 1;
  let feed = text.indexOf("\n");
  return places.map((place) => {
    for (; feed !== -1 && feed < place; feed = text.indexOf("\n", feed + 1)) line++;
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
  const done = replace.trim().length >= 8 ? finder(replace)(text, 0) : -1;
  if (done !== -1)
    return `${nothing}, but the replacement is, at line ${linesAt(text, [done])[0]}; it may be done already`;
  const near = nearestWindow(lines, said);
  return near === null ? nothing : `${nothing}; the nearest is:\n${quoted(lines, near, said.length)}`;
}

/** The first lines that are the same but for white space; the text may begin and end in the middle of a line. */
function windowWith(lines: readonly string[], said: readonly string[]): number | null {
  const bare = (all: readonly string[]): string => all.map((line) => line.replace(/\s+/g, "")).join("\n");
  const wanted = bare(said);
  if (wanted.replaceAll("\n", "") === "") return null;
  const there = bare(lines);
  const at = finder(wanted)(there, 0);
  return at === -1 ? null : (linesAt(there, [at])[0] ?? 1) - 1;
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
