/**
 * A terminal whose last lines change while the lines above them stay. Printed lines move up into the terminal's own
 * scrollback. Below them are the live lines: the open part of an answer, the status and the typed line, which are
 * repainted when they change. A printed line is never painted twice, and the alternate screen is not used
 * (docs/decisions/0031).
 */
import { rowsOf } from "./cells.ts";

export interface TerminalSize {
  columns: number;
  rows: number;
}

export interface ScreenPorts {
  write(text: string): void;
  size(): TerminalSize;
}

export interface ScreenFrame {
  /** Lines that stay. They may be wider than the terminal. */
  done: readonly string[];
  /** The live lines below. If there is no room for all of them, the first ones are left out. */
  live: readonly string[];
  /**
   * The position of the cursor: how many rows above the last row of `live`, and how many cells from the left. Null: the
   * cursor is hidden.
   */
  cursor: { rowsUp: number; column: number } | null;
}

const eraseBelow = "\u001b[J";
const eraseScreen = "\u001b[2J\u001b[H";
const hideCursor = "\u001b[?25l";
const showCursor = "\u001b[?25h";
/** Terminals that support it show all of one frame at once. Others ignore it. */
const beginFrame = "\u001b[?2026h";
const endFrame = "\u001b[?2026l";

export class LiveScreen {
  readonly #ports: ScreenPorts;
  #live: readonly string[] = [];
  /** The row of the cursor, counted from the first row of the live lines. */
  #row = 0;
  #column = 0;
  #columns: number;

  constructor(ports: ScreenPorts) {
    this.#ports = ports;
    this.#columns = ports.size().columns;
  }

  paint({ done, live, cursor }: ScreenFrame): void {
    const { columns, rows } = this.#ports.size();
    const shown = fitting(live, { columns, rows });
    const isReflowed = columns !== this.#columns;
    if (isReflowed) this.#reflow(columns);
    const kept = done.length > 0 || isReflowed ? 0 : countSame(this.#live, shown);
    const isSame = kept === shown.length && kept === this.#live.length && done.length === 0;
    const text = (isSame ? "" : this.#repaint(done, shown, kept)) + this.#placeCursor(shown, cursor);
    if (text !== "")
      this.#ports.write(`${beginFrame}${hideCursor}${text}${cursor === null ? "" : showCursor}${endFrame}`);
  }

  /** Clears the visible screen. The scrollback stays. */
  erase(): void {
    this.#ports.write(eraseScreen);
    this.#live = [];
    this.#row = 0;
    this.#column = 0;
  }

  /** Leaves the terminal as other programs expect it: no live lines, and the cursor at the beginning of a line. */
  close(): void {
    this.paint({ done: [], live: [], cursor: null });
    this.#ports.write(showCursor);
  }

  #repaint(done: readonly string[], shown: readonly string[], kept: number): string {
    const columns = this.#columns;
    const keptRows = rowsOfAll(shown.slice(0, kept), columns);
    // The row below the last one may not exist yet. A line feed creates it, a cursor movement would not.
    const start = kept === 0 ? `${up(this.#row)}\r` : `${vertically(keptRows - 1 - this.#row)}\r\n`;
    const added = shown.slice(kept);
    const isShorter = added.length === 0;
    this.#live = shown;
    this.#row = isShorter ? keptRows : rowsOfAll(shown, columns) - 1;
    this.#column = isShorter ? 0 : columns - 1;
    return `${start}${eraseBelow}${done.map((line) => `${line}\r\n`).join("")}${added.join("\r\n")}`;
  }

  #placeCursor(shown: readonly string[], cursor: ScreenFrame["cursor"]): string {
    if (cursor === null) return "";
    const row = Math.max(0, rowsOfAll(shown, this.#columns) - 1 - cursor.rowsUp);
    const column = Math.min(cursor.column, this.#columns - 1);
    if (row === this.#row && column === this.#column) return "";
    const text = `${vertically(row - this.#row)}\u001b[${column + 1}G`;
    this.#row = row;
    this.#column = column;
    return text;
  }

  /**
   * Corrects the cursor's row after a change of width. The terminal wraps its lines again, and some terminals do not
   * wrap the line with the cursor. Assuming that all lines wrap leaves one row too many at worst; the opposite would
   * overwrite printed lines.
   */
  #reflow(columns: number): void {
    let row = 0;
    let left = this.#row;
    for (const line of this.#live) {
      left -= rowsOf(line, this.#columns);
      if (left < 0) break;
      row += rowsOf(line, columns);
    }
    this.#row = row;
    this.#columns = columns;
  }
}

function rowsOfAll(lines: readonly string[], columns: number): number {
  return lines.reduce((sum, line) => sum + rowsOf(line, columns), 0);
}

/** Returns as many of the last lines as there is room for. */
function fitting(lines: readonly string[], { columns, rows }: TerminalSize): readonly string[] {
  let room = rows;
  let first = lines.length;
  while (first > 0) {
    room -= rowsOf(lines[first - 1] ?? "", columns);
    if (room < 0) break;
    first -= 1;
  }
  return lines.slice(first);
}

function countSame(one: readonly string[], other: readonly string[]): number {
  const different = one.findIndex((line, at) => line !== other[at]);
  return different < 0 ? one.length : different;
}

function up(rows: number): string {
  return rows > 0 ? `\u001b[${rows}A` : "";
}

function vertically(rows: number): string {
  return rows < 0 ? up(-rows) : rows > 0 ? `\u001b[${rows}B` : "";
}
