/** The figures of the benches as a table for people. */
import type { BenchRow } from "./rows.ts";

export interface BenchResult {
  bench: string;
  rows: BenchRow[];
}

export function isOver({ value, limit }: BenchRow): boolean {
  return limit !== undefined && !(value <= limit);
}

/** Formats a figure with three significant digits: one run is not more precise. Large figures keep all digits before the point. */
export function formatValue(value: number): string {
  if (!Number.isFinite(value)) return String(value);
  const digits = Math.max(0, 2 - Math.floor(Math.log10(Math.max(Math.abs(value), 0.001))));
  return value.toLocaleString("en-US", { maximumFractionDigits: Math.min(digits, 3) });
}

/** Formats the rows. Columns are as wide as their widest cell; figures are aligned to the right. */
export function formatTable(results: readonly BenchResult[]): string {
  const lines = results.flatMap(({ bench, rows }) => rows.map((row) => cells(bench, row)));
  const widths = [0, 1, 2, 3, 4].map((column) => Math.max(0, ...lines.map((line) => (line[column] ?? "").length)));
  return lines
    .map((line) =>
      line
        .map((cell, column) =>
          column === 1 || column === 3 ? cell.padStart(widths[column] ?? 0) : cell.padEnd(widths[column] ?? 0),
        )
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
}

function cells(bench: string, row: BenchRow): string[] {
  const limit = row.limit === undefined ? "" : `≤ ${formatValue(row.limit)}`;
  const mark = row.limit === undefined ? "" : isOver(row) ? "OVER" : "ok";
  return [`${bench}: ${row.name}`, formatValue(row.value), row.unit, limit, mark, row.note ?? ""];
}
