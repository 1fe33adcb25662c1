/**
 * Standard input and output as the connection to a client (O7). It replaces the library's transport, which answers no invalid
 * line, ends at a line that is too long, and drops the requests that run when the client closes its end.
 */
import type { Readable, Writable } from "node:stream";
import { type JSONRPCMessage, type RequestId, serializeMessage, type Transport } from "@modelcontextprotocol/server";
import { limits } from "../../domain/limits.ts";
import { RequestLines, type RequestLine } from "./request-lines.ts";

export class LineTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: NonNullable<Transport["onmessage"]>;
  readonly #stdin: Readable;
  readonly #stdout: Writable;
  readonly #lines = new RequestLines(limits.mcpMessageBytesMax);
  /** The ids of the requests that are not answered yet, as JSON: 1 and "1" are different ids. */
  readonly #open = new Set<string>();
  readonly #inputOver = Promise.withResolvers<void>();
  readonly #answered = Promise.withResolvers<void>();
  #isInputOver = false;
  #isClosed = false;

  constructor({ stdin, stdout }: { stdin: Readable; stdout: Writable }) {
    this.#stdin = stdin;
    this.#stdout = stdout;
  }

  /** Resolves when the client sends no more. */
  get inputOver(): Promise<void> {
    return this.#inputOver.promise;
  }

  /** Resolves when the client sends no more and all of its requests are answered. */
  get answered(): Promise<void> {
    return this.#answered.promise;
  }

  async start(): Promise<void> {
    this.#stdin.on("data", (chunk: Buffer) => this.#take(this.#lines.push(chunk)));
    this.#stdin.on("error", (error) => this.onerror?.(error));
    for (const event of ["end", "close"] as const) this.#stdin.once(event, () => this.#onInputOver());
    if (this.#stdin.readableEnded || this.#stdin.destroyed) this.#onInputOver();
    this.#stdout.on("error", (error) => {
      // The client does not read any more.
      if (!this.#isClosed) this.onerror?.(error);
      void this.close();
    });
  }

  async send(message: JSONRPCMessage): Promise<void> {
    if (this.#isClosed) return await Promise.reject(new Error("the connection is closed"));
    await this.#write(serializeMessage(message));
    if (!("method" in message) && message.id !== undefined) this.#isAnswered(message.id);
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#stdin.pause();
    this.#inputOver.resolve();
    this.#answered.resolve();
    this.onclose?.();
  }

  #take(read: Iterable<RequestLine>): void {
    for (const line of read) {
      if (this.#isClosed) return;
      if ("message" in line) {
        this.#noteRequest(line.message);
        this.onmessage?.(line.message);
        continue;
      }
      const { id, ...error } = line.fault;
      this.onerror?.(new Error(error.message));
      // The end of the output is reported by its own event.
      if (id !== undefined) this.#write(`${JSON.stringify({ jsonrpc: "2.0", id, error })}\n`).catch(() => undefined);
    }
  }

  #noteRequest(message: JSONRPCMessage): void {
    if (!("method" in message)) return;
    // A subscription is answered when the connection ends.
    if ("id" in message && message.method !== "subscriptions/listen") this.#open.add(JSON.stringify(message.id));
    // A request that was cancelled gets no answer.
    if (message.method === "notifications/cancelled") this.#isAnswered(message.params?.["requestId"] as RequestId);
  }

  #isAnswered(id: RequestId): void {
    this.#open.delete(JSON.stringify(id));
    this.#endIfAnswered();
  }

  #onInputOver(): void {
    if (this.#isInputOver) return;
    this.#take(this.#lines.end());
    this.#isInputOver = true;
    this.#inputOver.resolve();
    this.#endIfAnswered();
  }

  #endIfAnswered(): void {
    if (this.#isInputOver && this.#open.size === 0) this.#answered.resolve();
  }

  #write(text: string): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#stdout.write(text, (error) => (error == null ? resolve() : reject(error)));
    });
  }
}
