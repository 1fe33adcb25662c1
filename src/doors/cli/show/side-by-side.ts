/** Two texts in two columns, as `diff -y` sets them: equal lines beside each other, long lines broken. */
import { diffLines } from "diff";

/** The mark between the columns. `|`: the lines differ. `<` and `>`: only one side has a line. */
export interface SideRow {
  left: string;
  mark: " " | "|" | "<" | ">";
  right: string;
}

/**
 * The time limit for comparing two texts, in milliseconds. Beyond it, the texts are set beside each other without a
 * comparison.
 */
const compareMs = 2_000;

/** Sets two texts in columns. `width` is the width of both columns and the mark between them, in characters. */
export function sideBySide(a: string, b: string, width: number): SideRow[] {
  const column = Math.max(10, Math.floor((width - 3) / 2));
  const rows: SideRow[] = [];
  let removed: string[] = [];
  for (const { value, added, removed: isRemoved } of compared(a, b)) {
    const lines = linesOf(value);
    // A removed line comes directly before the line that replaces it.
    if (isRemoved) {
      removed = lines;
      continue;
    }
    rows.push(...(added ? pairs(removed, lines) : [...pairs(removed, []), ...lines.map(equalRow)]));
    removed = [];
  }
  rows.push(...pairs(removed, []));
  return rows.flatMap((row) => broken(row, column));
}

function compared(a: string, b: string): { value: string; added: boolean; removed: boolean }[] {
  const whole = [
    { value: a, added: false, removed: true },
    { value: b, added: true, removed: false },
  ];
  return diffLines(a, b, { timeout: compareMs }) ?? whole;
}

function linesOf(text: string): string[] {
  return text === "" ? [] : text.replace(/\n$/, "").replaceAll("\t", "    ").split("\n");
}

function equalRow(line: string): SideRow {
  return { left: line, mark: " ", right: line };
}

function pairs(left: string[], right: string[]): SideRow[] {
  return Array.from({ length: Math.max(left.length, right.length) }, (_none, at): SideRow => {
    const mark = at >= left.length ? ">" : at >= right.length ? "<" : "|";
    return { left: left[at] ?? "", mark, right: right[at] ?? "" };
  });
}

/** Repeats the row for as many lines as its longer side needs. */
function broken({ left, mark, right }: SideRow, column: number): SideRow[] {
  const [lefts, rights] = [pieces(left, column), pieces(right, column)];
  return Array.from({ length: Math.max(lefts.length, rights.length) }, (_none, at) => ({
    left: (lefts[at] ?? "").padEnd(column),
    mark,
    right: rights[at] ?? "",
  }));
}

function pieces(line: string, column: number): string[] {
  const characters = [...line];
  const count = Math.max(1, Math.ceil(characters.length / column));
  return Array.from({ length: count }, (_none, at) => characters.slice(at * column, (at + 1) * column).join(""));
}
