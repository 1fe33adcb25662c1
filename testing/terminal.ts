/** A terminal for tests: it takes a program's output, and returns what a person would see. */
import { createRequire } from "node:module";
import type { Terminal } from "@xterm/headless";

// Its exports are made at run time, so they cannot be imported by name.
const xterm = createRequire(import.meta.url)("@xterm/headless") as typeof import("@xterm/headless");

export class TestTerminal {
  readonly #terminal: Terminal;
  #written: Promise<void> = Promise.resolve();

  constructor({ columns, rows }: { columns: number; rows: number }) {
    this.#terminal = new xterm.Terminal({ cols: columns, rows, scrollback: 100_000, allowProposedApi: true });
  }

  size(): { columns: number; rows: number } {
    return { columns: this.#terminal.cols, rows: this.#terminal.rows };
  }

  write(text: string): void {
    // The terminal of a system turns a line feed into a full line end.
    const ended = text.replaceAll(/(?<!\r)\n/g, "\r\n");
    this.#written = new Promise((resolve) => this.#terminal.write(ended, resolve));
  }

  async resize(columns: number, rows: number): Promise<void> {
    await this.#written;
    this.#terminal.resize(columns, rows);
  }

  /** Returns the scrollback and the screen as lines. Rows that were wrapped at the edge are joined. */
  async lines(): Promise<string[]> {
    await this.#written;
    const { active } = this.#terminal.buffer;
    const lines: string[] = [];
    for (let row = 0; row < active.length; row++) {
      const line = active.getLine(row);
      const isContinued = active.getLine(row + 1)?.isWrapped === true;
      const text = line?.translateToString(!isContinued) ?? "";
      if (line?.isWrapped === true) lines.push(`${lines.pop() ?? ""}${text}`);
      else lines.push(text);
    }
    const trimmed = lines.map((line) => line.trimEnd());
    while (trimmed.at(-1) === "") trimmed.pop();
    return trimmed;
  }

  /** Returns the same as one text. */
  async text(): Promise<string> {
    return (await this.lines()).join("\n");
  }

  /** Returns row and column of the cursor, from the top left of the screen. */
  async cursor(): Promise<{ row: number; column: number }> {
    await this.#written;
    const { cursorX, cursorY } = this.#terminal.buffer.active;
    return { row: cursorY, column: cursorX };
  }

  /** Returns the character in the cell to the left of the cursor. */
  async beforeCursor(): Promise<string> {
    await this.#written;
    const { active } = this.#terminal.buffer;
    return (
      active
        .getLine(active.baseY + active.cursorY)
        ?.getCell(active.cursorX - 1)
        ?.getChars() ?? ""
    );
  }
}
