/**
 * Sets a table of Markdown for a terminal. Its cells are wrapped between words. Where the columns have no room beside
 * each other, each row becomes a list of its cells.
 */
import { stripVTControlCharacters } from "node:util";
import type { Tokens } from "marked";
import type { OutputStyle } from "../output.ts";
import { cellsOf } from "./cells.ts";

export interface TableLook {
  style: OutputStyle;
  width: number;
  /** Sets the text of a cell in lines of at most this many cells. */
  cellLines(cell: Tokens.TableCell, width: number): string[];
}

const border = " │ ";
/** A width at which no text is wrapped. */
const unbroken = 100_000;

export function markdownTable(table: Tokens.Table, look: TableLook): string[] {
  const rows = [table.header, ...table.rows];
  const widths = columnWidths(rows, look);
  if (widths === null) return table.rows.flatMap((row, at) => listOfCells(table.header, row, { ...look, at }));
  const { dim, bold } = look.style;
  const [header = [], ...body] = rows.map((row) => rowLines(row, table, { widths, look }));
  const rule = dim(widths.map((width) => "─".repeat(width)).join("─┼─"));
  return [...header.map((line) => bold(line)), rule, ...body.flat()];
}

/** Returns the widths of the columns. Null if a word of a cell would be broken. */
function columnWidths(rows: readonly Tokens.TableCell[][], look: TableLook): number[] | null {
  const count = rows[0]?.length ?? 0;
  const columns = Array.from({ length: count }, (_, at) => rows.flatMap((row) => row[at] ?? []));
  const lines = columns.map((cells) => cells.flatMap((cell) => look.cellLines(cell, unbroken)));
  const wanted = lines.map((texts) => Math.max(1, ...texts.map(cellsOf)));
  const least = lines.map((texts) => Math.max(1, ...texts.flatMap(wordsOf).map(cellsOf)));
  let room = look.width - border.length * (count - 1) - sum(least);
  if (room < 0) return null;
  const widths = [...least];
  // The room goes to the narrowest columns first, so that short columns stay on one line.
  const byNeed = widths
    .keys()
    .toArray()
    .toSorted((one, other) => (wanted[one] ?? 0) - (wanted[other] ?? 0));
  for (const [place, at] of byNeed.entries()) {
    const share = Math.floor(room / (count - place));
    const more = Math.min((wanted[at] ?? 0) - (least[at] ?? 0), share);
    widths[at] = (least[at] ?? 0) + more;
    room -= more;
  }
  return widths;
}

function wordsOf(text: string): string[] {
  return stripVTControlCharacters(text).split(/\s+/);
}

function rowLines(
  row: readonly Tokens.TableCell[],
  { align }: Tokens.Table,
  { widths, look }: { widths: readonly number[]; look: TableLook },
): string[] {
  const cells = row.map((cell, at) => look.cellLines(cell, widths[at] ?? 1));
  const height = Math.max(1, ...cells.map(({ length }) => length));
  return Array.from({ length: height }, (_, line) => {
    const parts = cells.map((lines, at) => padded(lines[line] ?? "", widths[at] ?? 1, align[at] ?? null));
    return parts.join(look.style.dim(border));
  });
}

function padded(text: string, width: number, align: Tokens.Table["align"][number]): string {
  const room = Math.max(0, width - cellsOf(text));
  const left = align === "right" ? room : align === "center" ? Math.floor(room / 2) : 0;
  return " ".repeat(left) + text + " ".repeat(room - left);
}

function listOfCells(
  header: readonly Tokens.TableCell[],
  row: readonly Tokens.TableCell[],
  { at, style, width, cellLines }: TableLook & { at: number },
): string[] {
  const lines = row.flatMap((cell, column) => {
    const name = header[column]?.text ?? "";
    const text = cellLines(cell, Math.max(1, width - 2));
    return [
      ...cellLines({ ...cell, text: name, tokens: header[column]?.tokens ?? [] }, width).map(style.bold),
      ...text.map((line) => `  ${line}`),
    ];
  });
  return at === 0 ? lines : ["", ...lines];
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
