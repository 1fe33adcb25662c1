/**
 * The lines that a chat is told, one after the other, whoever takes them from the terminal or the pipe. A line that
 * nobody waits for is kept for later.
 */
export interface ChatInput {
  /** Whether somebody sits there, who sees what is printed and can be asked. */
  readonly isTerminal: boolean;
  /** The next line to be said or done; null: there will be none. */
  next(): Promise<string | null>;
  /** The answer to a question in between; null: nobody is there any more, or Ctrl-C took it back. */
  ask(question: string): Promise<string | null>;
  /** Takes a question back, which is then answered by null. False: none was asked. */
  cancelQuestion(): boolean;
  /** Hands lines that are typed during `work` to `listener`. */
  during<T>(work: Promise<T>, listener: (line: string) => void): Promise<T>;
  /** Keeps a line for later. */
  keep(line: string): void;
  /** Shows again that a line is waited for. */
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

  /** No more lines come; those that are kept are still given. */
  end(): void {
    this.#isEnded = true;
    this.cancel();
  }

  /** Whoever waits gets null. */
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

  /** Not one that was kept: it was typed before there was something to answer. */
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
