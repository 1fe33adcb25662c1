/** Splits a server's standard output into messages: one line each, of limited length (P5). */
import { limits } from "../../domain/limits.ts";

const lineFeed = 0x0a;

export class MessageLines {
  #parts: Buffer[] = [];
  #length = 0;

  /** Adds a chunk. Returns the lines that are now complete, without empty ones. Null if a line is too long: then no more may be read. */
  push(chunk: Buffer): string[] | null {
    const lines: string[] = [];
    let start = 0;
    for (let end = chunk.indexOf(lineFeed); end !== -1; end = chunk.indexOf(lineFeed, start)) {
      if (!this.#add(chunk.subarray(start, end))) return null;
      const line = this.#take();
      if (line !== "") lines.push(line);
      start = end + 1;
    }
    return this.#add(chunk.subarray(start)) ? lines : null;
  }

  #add(part: Buffer): boolean {
    this.#length += part.length;
    if (this.#length > limits.mcpMessageBytesMax) {
      this.#parts = [];
      return false;
    }
    if (part.length > 0) this.#parts.push(part);
    return true;
  }

  #take(): string {
    const line = Buffer.concat(this.#parts).toString("utf8").trim();
    this.#parts = [];
    this.#length = 0;
    return line;
  }
}
