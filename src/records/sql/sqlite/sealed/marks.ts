/**
 * Marks stand in the bytes of a turn for something that is known from elsewhere. A mark is the byte 255 and a number. Here each byte
 * is one character of a text, because searching and joining texts is quicker than doing so with bytes.
 */
import { AptoveError } from "../../../../domain/errors.ts";

/** The order is part of the format. A number above them is the rank of a value that was used before. */
const kinds = ["byte", "text", "seed", "uuid", "hex"] as const;
export const markByte = "\xff";

/** What a mark stands for: the byte itself, a text, or a value. `rank` is 0 but for `again`. */
export interface Mark {
  kind: (typeof kinds)[number] | "again";
  rank: number;
}

export function mark(kind: Mark["kind"], rank = 0): string {
  return markByte + number(kind === "again" ? kinds.length + rank : kinds.indexOf(kind));
}

/** Writes a number as `ByteWriter` does. */
export function number(value: number): string {
  let text = "";
  let left = value;
  for (; left > 0x7f; left = Math.floor(left / 0x80)) text += String.fromCharCode((left % 0x80) | 0x80);
  return text + String.fromCharCode(left);
}

/** Reads bytes with marks. Throws `storage_failed` if they end in a mark. */
export class MarkReader {
  readonly #text: string;
  #at = 0;

  constructor(bytes: Buffer) {
    this.#text = bytes.toString("latin1");
  }

  get isAtEnd(): boolean {
    return this.#at === this.#text.length;
  }

  /** Returns what stands before the next mark, or all of the rest if there is none, and passes over the first byte of the mark. */
  untilMark(): { text: string; isMark: boolean } {
    const at = this.#text.indexOf(markByte, this.#at);
    const text = this.#text.slice(this.#at, at === -1 ? undefined : at);
    this.#at = at === -1 ? this.#text.length : at + 1;
    return { text, isMark: at !== -1 };
  }

  mark(): Mark {
    const value = this.number();
    const kind = kinds[value];
    return kind === undefined ? { kind: "again", rank: value - kinds.length } : { kind, rank: 0 };
  }

  number(): number {
    let value = 0;
    for (let place = 1; ; place *= 0x80) {
      if (this.isAtEnd || place > Number.MAX_SAFE_INTEGER) throw new AptoveError("storage_failed", "a mark is cut");
      const byte = this.#text.charCodeAt(this.#at);
      this.#at += 1;
      value += (byte & 0x7f) * place;
      if (byte < 0x80) return value;
    }
  }
}
