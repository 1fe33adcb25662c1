/** Sets rows in columns. On a terminal no word is broken at its edge, and a row has one line if there is any way. */
import { cellsOf, cut } from "../terminal/cells.ts";
import { wrap } from "../terminal/spans.ts";

export interface TableFit {
  /** The width of the terminal in cells. Null: there is none, and each row is one line with all of its columns. */
  width: number | null;
  /** The indexes of columns that are left out where there is no room, the first one first. */
  spare?: readonly number[];
  /** What happens to a last column that is too long: it continues on the next line, or it is cut. Default: `wrap`. */
  last?: "wrap" | "cut";
}

const gap = 2;
/** The room that the last column should have before other columns are left out for it. */
const lastCellsWanted = 40;
/** The least room beside the other columns. With less, the last column begins on a line of its own. */
const lastCellsMin = 16;
const ownLineIndent = 4;

export function tableLines(
  rows: readonly (readonly string[])[],
  { width, spare = [], last = "wrap" }: TableFit,
): string[] {
  if (width === null) return rows.map((row) => aligned(row, widthsOf(rows)));
  const fitted = withoutSpare(rows, { width, spare });
  const widths = widthsOf(fitted);
  const before = widths.slice(0, -1).reduce((sum, each) => sum + each + gap, 0);
  const room = width - before;
  return fitted.flatMap((row) => {
    const isWhole = row.length === widths.length;
    const text = row.at(-1) ?? "";
    if (!isWhole || text === "" || cellsOf(text) <= room) return [cutTo(aligned(row, widths), isWhole ? null : width)];
    const filled = aligned([...row.slice(0, -1), ""], widths);
    const front = filled + " ".repeat(before - cellsOf(filled));
    if (last === "cut" && room >= lastCellsMin) return [front + cut(text, room)];
    const indent = room < lastCellsMin ? ownLineIndent : before;
    const lines = wrap([{ text, paint: String }], Math.max(1, width - indent));
    const [first = "", ...more] = room < lastCellsMin ? ["", ...lines] : lines;
    return [(front + first).trimEnd(), ...more.map((line) => " ".repeat(indent) + line)];
  });
}

/** Leaves columns out until the last one has room. */
function withoutSpare(
  rows: readonly (readonly string[])[],
  { width, spare }: { width: number; spare: readonly number[] },
): readonly (readonly string[])[] {
  const all = widthsOf(rows);
  const left = new Set<number>();
  const needed = (): number => {
    const kept = all.filter((_, at) => !left.has(at));
    const wanted = Math.min(kept.at(-1) ?? 0, lastCellsWanted);
    return kept.slice(0, -1).reduce((sum, each) => sum + each + gap, 0) + wanted;
  };
  for (const at of spare) {
    if (needed() <= width) break;
    if (at < all.length - 1) left.add(at);
  }
  return rows.map((row) => row.filter((_, at) => !left.has(at)));
}

function widthsOf(rows: readonly (readonly string[])[]): number[] {
  const widths: number[] = [];
  for (const row of rows) row.forEach((cell, at) => (widths[at] = Math.max(widths[at] ?? 0, cellsOf(cell))));
  return widths;
}

/** The last cell is not padded. */
function aligned(row: readonly string[], widths: readonly number[]): string {
  const padded = row.map((cell, at) =>
    at === row.length - 1 ? cell : cell + " ".repeat(Math.max(0, (widths[at] ?? 0) - cellsOf(cell))),
  );
  return padded.join(" ".repeat(gap)).trimEnd();
}

function cutTo(line: string, width: number | null): string {
  return width === null ? line : cut(line, width);
}
