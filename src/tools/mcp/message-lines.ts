/** Splits a server's standard output into messages: one line each, of limited length (P5). */
import { limits } from "../../domain/limits.ts";
import { linePieces } from "../../system/line-pieces.ts";

export class MessageLines {
  #parts: Uint8Array[] = [];
  #length = 0;

  /** Adds a chunk. Returns the lines that are now complete, without empty ones. Null if a line is too long: then no more may be read. */
  push(chunk: Uint8Array): string[] | null {
    const lines: string[] = [];
    for (const { bytes, isLast } of linePieces(chunk)) {
      if (!this.#add(bytes)) return null;
      const line = isLast ? this.#take() : "";
      if (line !== "") lines.push(line);
    }
    return lines;
  }

  #add(part: Uint8Array): boolean {
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
