/**
 * A terminal whose last lines change while those above stay: what is said stays, and goes up into the terminal's own
 * history; what is still being said, the state and the line that is typed are beneath it, and are painted anew when
 * they change. No line that stays is ever painted twice, and nothing takes the screen over.
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
  /** Lines that stay. They may be longer than the terminal is wide. */
  done: readonly string[];
  /** The changing lines beneath; the first of them are left out where there is no room for all. */
  live: readonly string[];
  /** Where the cursor is: so many rows above the last one of `live`, and so many cells from the left. Null: nowhere. */
  cursor: { rowsUp: number; column: number } | null;
}

const eraseBelow = "\u001b[J";
const eraseScreen = "\u001b[2J\u001b[H";
const hideCursor = "\u001b[?25l";
const showCursor = "\u001b[?25h";
/** Terminals that know it show all of one frame at once; the others take no notice. */
const beginFrame = "\u001b[?2026h";
const endFrame = "\u001b[?2026l";

export class LiveScreen {
  readonly #ports: ScreenPorts;
  #live: readonly string[] = [];
  /** Where the cursor stands, from the first row of the live lines. */
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

  /** Empties the whole terminal; what went up before can still be found there. */
  erase(): void {
    this.#ports.write(eraseScreen);
    this.#live = [];
    this.#row = 0;
    this.#column = 0;
  }

  /** Leaves the terminal as others expect it: no live lines, and the cursor at the beginning of a line. */
  close(): void {
    this.paint({ done: [], live: [], cursor: null });
    this.#ports.write(showCursor);
  }

  #repaint(done: readonly string[], shown: readonly string[], kept: number): string {
    const columns = this.#columns;
    const keptRows = rowsOfAll(shown.slice(0, kept), columns);
    // A row beneath the last one may not be there yet: a line feed makes it, a move would not.
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
   * A terminal that gets another width breaks its lines anew; some leave the one with the cursor as it is. To take it
   * for whole leaves a row too much behind at worst, where the other mistake would overwrite what was said.
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

/** As many of the last lines as there is room for. */
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
