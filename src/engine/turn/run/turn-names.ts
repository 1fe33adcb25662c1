/**
 * The numbers of turns in the lines of a summary (M6). The model is asked for them, and may leave some out or invent
 * others, so they are checked, and the turns that no line names are listed beside the summary. Pure.
 */
import { limits } from "../../../domain/limits.ts";

interface Range {
  from: number;
  to: number;
}

const names = / ?\[turns?[ \t]+([\d\s,–-]{1,2000})\]/gi;

/** Returns the text without the numbers of turns that the summary does not stand for: those after `through`. */
export function withKnownTurns(text: string, through: number): string {
  return text.replace(names, (written: string, list: string) => {
    const known = rangesOf(list).filter((range) => isKnown(range, through));
    if (known.length === rangesOf(list).length && known.length > 0) return written;
    return known.length === 0 ? "" : ` [${isOne(known) ? "turn" : "turns"} ${listed(known)}]`;
  });
}

/** Returns the turns from the first to `through` that the text does not name. Null: it names all of them. */
export function unnamedTurns(text: string, through: number): string | null {
  const named = [...text.matchAll(names)]
    .flatMap(([, list = ""]) => rangesOf(list))
    .filter((range) => isKnown(range, through));
  const gaps: Range[] = [];
  let next = 1;
  for (const { from, to } of named.toSorted((a, b) => a.from - b.from)) {
    if (from > next) gaps.push({ from: next, to: from - 1 });
    next = Math.max(next, to + 1);
  }
  if (next <= through) gaps.push({ from: next, to: through });
  if (gaps.length === 0) return null;
  // The list stays short, however long the conversation is.
  const [first, last] = [gaps[0], gaps.at(-1)];
  const isLong = gaps.length > limits.unnamedRangesMax && first !== undefined && last !== undefined;
  return isLong ? `some of ${listed([{ from: first.from, to: last.to }])}` : listed(gaps);
}

/** Returns the numbers in square brackets. What is not a number or a range has no end. */
function rangesOf(list: string): Range[] {
  return list.split(",").map((part) => {
    const [, from = "", to = from] = /^\s*(\d{1,9})\s*(?:[–-]\s*(\d{1,9})\s*)?$/.exec(part) ?? [];
    return { from: Number(from), to: Number(to) };
  });
}

function isKnown({ from, to }: Range, through: number): boolean {
  return from >= 1 && from <= to && to <= through;
}

function isOne(ranges: readonly Range[]): boolean {
  return ranges.length === 1 && ranges[0]?.from === ranges[0]?.to;
}

function listed(ranges: readonly Range[]): string {
  return ranges.map(({ from, to }) => (from === to ? `${from}` : `${from}-${to}`)).join(", ");
}
