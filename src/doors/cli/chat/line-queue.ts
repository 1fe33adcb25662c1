/**
 * The lines that a chat reads, in their order, whether they come from a terminal or a pipe. A line is kept until it is
 * read.
 */
export interface ChatInput {
  /** True if a person is at a terminal, sees what is printed, and can be asked. */
  readonly isTerminal: boolean;
  /** Reads the next line. Null if there will be none. */
  next(): Promise<string | null>;
  /**
   * Asks a question and returns the answer. Null if the input has ended or Ctrl-C cancelled the question. Each character
   * of `keys` is a whole answer, without Enter where the input can read single keys.
   */
  ask(question: string, keys?: string): Promise<string | null>;
  /** Cancels the open question, which is then answered with null. Returns false if no question is open. */
  cancelQuestion(): boolean;
  /** Sends lines that are typed during `work` to `listener`. */
  during<T>(work: Promise<T>, listener: (line: string) => void): Promise<T>;
  /** Keeps a line for later. */
  keep(line: string): void;
  /** Shows the prompt again. */
  prompt(): void;
  close(): void;
}

export class LineQueue {
  readonly #lines: string[] = [];
  #waiting: ((line: string | null) => void) | null = null;
  #listener: ((line: string) => void) | null = null;
  #isEnded = false;

  get isEnded(): boolean {
    return this.#isEnded;
  }

  take(line: string): void {
    const waiting = this.#waiting;
    this.#waiting = null;
    if (waiting !== null) waiting(line);
    else if (this.#listener !== null) this.#listener(line);
    else this.#lines.push(line);
  }

  keep(line: string): void {
    this.#lines.push(line);
  }

  /** Ends the input. Lines that are kept can still be read. */
  end(): void {
    this.#isEnded = true;
    this.cancel();
  }

  /** Resolves a pending read or question with null. */
  cancel(): void {
    this.#waiting?.(null);
    this.#waiting = null;
  }

  hasKept(): boolean {
    return this.#lines.length > 0;
  }

  async next(): Promise<string | null> {
    const line = this.#lines.shift();
    if (line !== undefined) return line;
    return await this.nextTyped();
  }

  /** A line that was kept is no answer: it was typed before the question was asked. */
  async nextTyped(): Promise<string | null> {
    if (this.#isEnded) return null;
    return await new Promise((resolve) => (this.#waiting = resolve));
  }

  async during<T>(work: Promise<T>, listener: (line: string) => void): Promise<T> {
    this.#listener = listener;
    try {
      return await work;
    } finally {
      this.#listener = null;
    }
  }
}
