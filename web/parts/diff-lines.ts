/** The lines of a change, with the unchanged ones between them left out. Pure. */
// The whole library would bring its comparison of words into the first load.
import { diffLines } from "diff/lib/diff/line.js";

export interface DiffLine {
  kind: "same" | "added" | "removed" | "gap";
  text: string;
  /** The number of the line in the old and in the new text. */
  before: number | null;
  after: number | null;
}

export interface Change {
  lines: DiffLine[];
  added: number;
  removed: number;
}

/** Unchanged lines that are shown around a change. */
const around = 3;
/** A change of more lines is shown as a whole: an exact comparison would hold the page, because its time grows with the square. */
const editLengthMax = 1_500;

export function changeOf(oldText: string | null, newText: string): Change {
  const parts = partsOf(oldText ?? "", newText);
  const lines: DiffLine[] = [];
  let [left, right] = [1, 1];
  for (const { value, added, removed } of parts) {
    for (const text of linesOf(value)) {
      if (added) lines.push({ kind: "added", text, before: null, after: right++ });
      else if (removed) lines.push({ kind: "removed", text, before: left++, after: null });
      else lines.push({ kind: "same", text, before: left++, after: right++ });
    }
  }
  const of = (kind: DiffLine["kind"]): number => lines.filter((line) => line.kind === kind).length;
  return { lines: withoutFar(lines), added: of("added"), removed: of("removed") };
}

interface Part {
  value: string;
  added: boolean;
  removed: boolean;
}

/** Compares what is between the lines that both texts begin and end with. */
function partsOf(before: string, after: string): Part[] {
  const start = sameStart(before, after);
  const end = sameEnd(before.slice(start), after.slice(start));
  const [left, right] = [before.slice(start, before.length - end), after.slice(start, after.length - end)];
  const same = (value: string): Part => ({ value, added: false, removed: false });
  const middle = diffLines(left, right, { maxEditLength: editLengthMax }) ?? [
    { value: left, removed: true, added: false },
    { value: right, removed: false, added: true },
  ];
  return [same(before.slice(0, start)), ...middle, same(before.slice(before.length - end))];
}

/** Returns the length of the whole lines that both texts begin with. */
function sameStart(before: string, after: string): number {
  let at = 0;
  while (at < before.length && at < after.length && before[at] === after[at]) at++;
  return before.slice(0, at).lastIndexOf("\n") + 1;
}

/** Returns the length of the whole lines that both texts end with. */
function sameEnd(before: string, after: string): number {
  let length = 0;
  const most = Math.min(before.length, after.length);
  while (length < most && before[before.length - length - 1] === after[after.length - length - 1]) length++;
  const from = before.length - length;
  if (from === 0 && length === after.length) return length;
  const line = before.indexOf("\n", from);
  return line === -1 ? 0 : before.length - line - 1;
}

function linesOf(text: string): string[] {
  if (text === "") return [];
  const lines = text.split("\n");
  if (lines.at(-1) === "") lines.pop();
  return lines;
}

function withoutFar(lines: readonly DiffLine[]): DiffLine[] {
  const near = new Uint8Array(lines.length);
  for (const [at, { kind }] of lines.entries()) {
    if (kind !== "same") near.fill(1, Math.max(0, at - around), at + around + 1);
  }
  const shown: DiffLine[] = [];
  let left = 0;
  for (const [at, line] of lines.entries()) {
    if (near[at] === 1) {
      if (left > 0) shown.push(gap(left));
      left = 0;
      shown.push(line);
    } else left += 1;
  }
  if (left > 0) shown.push(gap(left));
  return shown;
}

function gap(lines: number): DiffLine {
  return { kind: "gap", text: `${lines} unchanged ${lines === 1 ? "line" : "lines"}`, before: null, after: null };
}
