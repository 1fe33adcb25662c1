/**
 * What the terminals of a command and of a chat have in common: printed lines that stay, lines above the typed one that
 * change, and repaints that are combined.
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

/** What a repaint shows: lines that are printed from now on, and the lines above the typed one. */
export interface PaintedLines {
  done: string[];
  above: readonly string[];
}

/** How often a terminal is repainted: often enough to look alive, rarely enough to cost nothing. */
const frameMs = 33;

export abstract class PrintingTerminal implements TurnTerminal {
  protected readonly screen: LiveScreen;
  readonly #stdout: CliIo["stdout"];
  #above: (() => readonly string[]) | null = null;
  #done: string[] = [];
  /** The text that was printed since the last line feed. */
  #partial = "";
  #timer: NodeJS.Timeout | null = null;
  #isClosed = false;

  constructor({ stdout }: Pick<CliIo, "stdout">) {
    this.#stdout = stdout;
    this.screen = new LiveScreen({ write: (text) => void stdout.write(text), size: () => this.size });
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
    this.#above = lines;
    this.changed();
  }

  changed(): void {
    if (!this.#isClosed) this.#timer ??= setTimeout(() => this.repaint(), frameMs);
  }

  close(): void {
    if (this.#isClosed) return;
    if (this.#partial !== "") this.print("\n");
    this.#above = null;
    this.leave();
    this.repaint();
    this.#isClosed = true;
    this.screen.close();
  }

  /** Paints at once what would be painted soon. */
  protected repaint(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    if (this.#isClosed) return;
    const done = this.#done;
    this.#done = [];
    this.paint({ done, above: this.#above?.() ?? [] });
  }

  protected abstract paint(lines: PaintedLines): void;

  /** Called once, before the last repaint. */
  protected abstract leave(): void;
}
