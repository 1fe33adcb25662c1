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
/** Larger texts are compared as a whole: an exact comparison would hold the page. */
const comparedCharactersMax = 400_000;

export function changeOf(oldText: string | null, newText: string): Change {
  const before = oldText ?? "";
  const isLarge = before.length + newText.length > comparedCharactersMax;
  const parts = isLarge
    ? [
        { value: before, removed: true, added: false },
        { value: newText, removed: false, added: true },
      ]
    : diffLines(before, newText);
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
