/** The lines of a chat as they are typed on its terminal. */
import { LineQueue, type ChatInput } from "./line-queue.ts";
import { ChatTerminal, type ChatTerminalOptions } from "../terminal/chat-terminal.ts";

export class TerminalLines implements ChatInput {
  readonly isTerminal = true;
  readonly terminal: ChatTerminal;
  readonly #queue = new LineQueue();
  readonly #options: Omit<ChatTerminalOptions, "onSubmit" | "onEnd">;
  #isAsking = false;

  constructor(options: Omit<ChatTerminalOptions, "onSubmit" | "onEnd">) {
    this.#options = options;
    this.terminal = new ChatTerminal({
      ...options,
      onSubmit: (text) => this.#queue.take(text),
      onEnd: () => this.close(),
    });
    // In raw mode, Ctrl-C arrives as a key. Another process may still send the signal.
    options.io.signals.on("SIGINT", options.onInterrupt);
  }

  async next(): Promise<string | null> {
    if (!this.#queue.hasKept()) this.terminal.type({ as: "prompt" });
    const line = await this.#queue.next();
    this.terminal.type({ as: "hidden" });
    return line;
  }

  async ask(question: string, keys?: string): Promise<string | null> {
    if (this.#queue.isEnded) return null;
    this.terminal.type({ as: "answer", question, ...(keys !== undefined && { keys }) });
    this.#isAsking = true;
    try {
      return await this.#queue.nextTyped();
    } finally {
      this.#isAsking = false;
      this.terminal.type({ as: "hidden" });
    }
  }

  cancelQuestion(): boolean {
    if (this.#isAsking) this.#queue.cancel();
    return this.#isAsking;
  }

  async during<T>(work: Promise<T>, listener: (line: string) => void): Promise<T> {
    this.terminal.type({ as: "steering" });
    try {
      return await this.#queue.during(work, listener);
    } finally {
      this.terminal.type({ as: "hidden" });
    }
  }

  keep(line: string): void {
    this.#queue.keep(line);
  }

  prompt(): void {
    this.terminal.changed();
  }

  close(): void {
    this.#options.io.signals.off("SIGINT", this.#options.onInterrupt);
    this.terminal.close();
    this.#queue.end();
  }
}
