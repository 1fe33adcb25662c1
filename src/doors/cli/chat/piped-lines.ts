/**
 * The lines of a chat from a pipe, or from a terminal whose cursor cannot be moved. On a terminal, a line that is typed
 * while a turn runs goes to the listener of that turn. In a pipe, it waits until it is read.
 */
import { createInterface, type Interface } from "node:readline";
import { LineQueue, type ChatInput } from "./line-queue.ts";
import type { CliIo } from "../ports.ts";

export interface ChatLineOptions {
  io: CliIo;
  /** Reads the keys of a terminal. Null for a pipe. */
  prompt: string | null;
  onInterrupt: () => void;
}

export class PipedLines implements ChatInput {
  readonly isTerminal: boolean;
  readonly #io: CliIo;
  readonly #reader: Interface;
  readonly #onInterrupt: () => void;
  readonly #queue = new LineQueue();
  #isAsking = false;

  constructor({ io, prompt, onInterrupt }: ChatLineOptions) {
    this.#io = io;
    this.isTerminal = prompt !== null;
    this.#onInterrupt = onInterrupt;
    this.#reader = createInterface({
      input: io.stdin,
      terminal: this.isTerminal,
      ...(prompt === null ? {} : { output: io.stdout, prompt }),
    });
    this.#reader.on("line", (line) => this.#queue.take(line));
    this.#reader.on("close", () => this.#queue.end());
    // On a terminal the reader gets Ctrl-C as a key. Elsewhere it is a signal.
    this.#reader.on("SIGINT", onInterrupt);
    io.signals.on("SIGINT", onInterrupt);
  }

  async next(): Promise<string | null> {
    this.prompt();
    return await this.#queue.next();
  }

  async ask(question: string): Promise<string | null> {
    if (!this.isTerminal || this.#queue.isEnded) return null;
    const before = this.#reader.getPrompt();
    this.#reader.setPrompt(question);
    this.#reader.prompt();
    this.#isAsking = true;
    try {
      return await this.#queue.nextTyped();
    } finally {
      this.#isAsking = false;
      this.#reader.setPrompt(before);
    }
  }

  cancelQuestion(): boolean {
    if (this.#isAsking) this.#queue.cancel();
    return this.#isAsking;
  }

  async during<T>(work: Promise<T>, listener: (line: string) => void): Promise<T> {
    return this.isTerminal ? await this.#queue.during(work, listener) : await work;
  }

  keep(line: string): void {
    this.#queue.keep(line);
  }

  prompt(): void {
    if (this.isTerminal && !this.#queue.isEnded) this.#reader.prompt();
  }

  close(): void {
    this.#io.signals.off("SIGINT", this.#onInterrupt);
    this.#reader.close();
  }
}
