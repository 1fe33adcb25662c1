/**
 * Progress on standard error: a bar that redraws itself on a terminal, and a plain line from time to time elsewhere.
 */
import type { CliOutput } from "../output.ts";

const barWidth = 24;
/** How often the bar is redrawn: often enough to look alive, rarely enough to cost nothing. */
const redrawMs = 80;
const plainLineMs = 5_000;
const waitingRedrawMs = 500;

export class ProgressBar {
  readonly #output: CliOutput;
  /** The time at which the first plain line may be printed. Most runs end earlier. */
  #drawnAt = Date.now();
  #isDrawn = false;

  constructor(output: CliOutput) {
    this.#output = output;
  }

  /** Shows the progress. A `total` of 0 means that it is not known yet. */
  update(label: string, done: number, total: number): void {
    const now = Date.now();
    if (this.#output.isNoteTerminal) {
      if (now - this.#drawnAt < redrawMs && done < total) return;
      this.#output.noteRaw(`\r\u001b[K${bar(done, total)} ${label} ${counts(done, total)}`);
      this.#isDrawn = true;
    } else {
      if (now - this.#drawnAt < plainLineMs) return;
      this.#output.note(`${label} ${counts(done, total)}`);
    }
    this.#drawnAt = now;
  }

  /** Clears the bar, so that the terminal's line is empty for the next output. */
  clear(): void {
    if (this.#isDrawn) this.#output.noteRaw("\r\u001b[K");
    this.#isDrawn = false;
  }
}

function bar(done: number, total: number): string {
  const filled = total === 0 ? 0 : Math.min(barWidth, Math.round((done / total) * barWidth));
  return `[${"=".repeat(filled)}${" ".repeat(barWidth - filled)}]`;
}

function counts(done: number, total: number): string {
  return total === 0 ? String(done) : `${done}/${total} files (${Math.floor((done / total) * 100)} %)`;
}

/** Shows a label while a promise is pending that reports no progress. */
export async function whileWaiting<T>(output: CliOutput, label: string, work: Promise<T>): Promise<T> {
  const startedAt = Date.now();
  let isDrawn = false;
  const draw = (): void => {
    const seconds = Math.round((Date.now() - startedAt) / 1_000);
    output.noteRaw(`\r\u001b[K${label} … ${seconds} s`);
    isDrawn = true;
  };
  const timer = output.isNoteTerminal ? setInterval(draw, waitingRedrawMs) : undefined;
  try {
    return await work;
  } finally {
    clearInterval(timer);
    if (isDrawn) output.noteRaw("\r\u001b[K");
  }
}
