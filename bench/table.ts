/** The figures of the benches as a table for people. */
import type { BenchRow } from "./rows.ts";

export interface BenchResult {
  bench: string;
  rows: BenchRow[];
}

/** Returns whether the figure does not keep its limit. A figure that was not run keeps none. */
export function isMissed({ value, ratio, limit, isLeast = false }: BenchRow): boolean {
  if (limit === undefined) return false;
  const figure = ratio ?? value;
  return !(isLeast ? figure >= limit : figure <= limit);
}

/** Formats a figure with three significant digits: one run is not more precise. Large figures keep all digits before the point. */
export function formatValue(value: number): string {
  if (!Number.isFinite(value)) return String(value);
  const digits = Math.max(0, 2 - Math.floor(Math.log10(Math.max(Math.abs(value), 0.001))));
  return value.toLocaleString("en-US", { maximumFractionDigits: Math.min(digits, 3) });
}

const titles = ["", "value", "", "ratio", "must", "", "aim", ""];
const alignedRight = [1, 3, 4, 6];

/** Formats the rows. Columns are as wide as their widest cell; figures are aligned to the right. */
export function formatTable(results: readonly BenchResult[]): string {
  const lines = [titles, ...results.flatMap(({ bench, rows }) => rows.map((row) => cells(bench, row)))];
  const widths = titles.map((_, column) => Math.max(0, ...lines.map((line) => (line[column] ?? "").length)));
  const padded = (cell: string, column: number): string =>
    alignedRight.includes(column) ? cell.padStart(widths[column] ?? 0) : cell.padEnd(widths[column] ?? 0);
  return lines.map((line) => line.map(padded).join("  ").trimEnd()).join("\n");
}

function cells(bench: string, row: BenchRow): string[] {
  const name = `${bench}: ${row.name}`;
  if (Number.isNaN(row.value) && row.limit === undefined) return [name, "not run", "", "", "", "", "", row.note ?? ""];
  const bound = (figure: number | undefined): string =>
    figure === undefined ? "" : `${row.isLeast === true ? "≥" : "≤"} ${formatValue(figure)}`;
  const ratio = row.ratio === undefined ? "" : `${formatValue(row.ratio)} ×`;
  const outcome = row.limit === undefined ? "" : isMissed(row) ? "missed" : "ok";
  return [name, formatValue(row.value), row.unit, ratio, bound(row.limit), outcome, bound(row.aim), row.note ?? ""];
}
