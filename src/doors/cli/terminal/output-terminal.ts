/**
 * The terminal of a command that only prints: printed lines stay, and below them are live lines while there are any. It
 * reads no key, so the shell's own Ctrl-C, Ctrl-Z and typing ahead work.
 */
import type { CliIo } from "../ports.ts";
import { LiveScreen, type TerminalSize } from "./screen.ts";

/** The part of a terminal on which a turn is shown. */
export interface TurnTerminal {
  readonly size: TerminalSize;
  /** Prints lines that stay. */
  printLines(lines: readonly string[]): void;
  /** Sets the function that returns the lines above the typed one for each repaint. Null: there are none. */
  showAbove(lines: (() => readonly string[]) | null): void;
  /** Repaints soon. */
  changed(): void;
}

/** How often a terminal is repainted: often enough to look alive, rarely enough to cost nothing. */
export const frameMs = 33;

export class OutputTerminal implements TurnTerminal {
  readonly #stdout: CliIo["stdout"];
  readonly #screen: LiveScreen;
  #live: (() => readonly string[]) | null = null;
  #done: string[] = [];
  #partial = "";
  #timer: NodeJS.Timeout | null = null;
  #isClosed = false;

  constructor({ stdout }: Pick<CliIo, "stdout">) {
    this.#stdout = stdout;
    this.#screen = new LiveScreen({ write: (text) => void stdout.write(text), size: () => this.size });
  }

  get size(): TerminalSize {
    const { columns = 80, rows = 24 } = this.#stdout;
    return { columns: Math.max(10, columns), rows: Math.max(4, rows) };
  }

  /** Prints text permanently. A line is shown when it is complete. */
  print(text: string): void {
    const lines = (this.#partial + text).split("\n");
    this.#partial = lines.pop() ?? "";
    this.printLines(lines);
  }

  printLines(lines: readonly string[]): void {
    if (lines.length === 0) return;
    this.#done.push(...lines);
    this.changed();
  }

  showAbove(lines: (() => readonly string[]) | null): void {
    this.#live = lines;
    this.changed();
  }

  changed(): void {
    if (!this.#isClosed) this.#timer ??= setTimeout(() => this.#paint(), frameMs);
  }

  close(): void {
    if (this.#isClosed) return;
    if (this.#partial !== "") this.print("\n");
    this.#live = null;
    this.#paint();
    this.#isClosed = true;
    this.#screen.close();
  }

  #paint(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    const done = this.#done;
    this.#done = [];
    this.#screen.paint({ done, live: this.#live?.() ?? [], cursor: null });
  }
}
