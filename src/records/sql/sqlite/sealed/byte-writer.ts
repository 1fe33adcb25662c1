/** Writes and reads the few numbers and names in front of packed bytes. Numbers have seven bits in each byte, the lowest first. */
import { AptoveError } from "../../../../domain/errors.ts";

export class ByteWriter {
  readonly #pieces: Uint8Array[] = [];

  byte(value: number): void {
    this.#pieces.push(Uint8Array.of(value));
  }

  number(value: number): void {
    const bytes: number[] = [];
    let left = value;
    for (; left > 0x7f; left = Math.floor(left / 0x80)) bytes.push((left % 0x80) | 0x80);
    bytes.push(left);
    this.#pieces.push(Uint8Array.from(bytes));
  }

  bytes(value: Uint8Array): void {
    this.#pieces.push(value);
  }

  whole(): Buffer {
    return Buffer.concat(this.#pieces);
  }
}

/** Throws `storage_failed` if the bytes end too early. */
export class ByteReader {
  readonly #bytes: Uint8Array;
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  byte(): number {
    const value = this.#bytes[this.#at];
    if (value === undefined) throw tooShort();
    this.#at += 1;
    return value;
  }

  number(): number {
    let value = 0;
    for (let place = 1; ; place *= 0x80) {
      const byte = this.byte();
      value += (byte & 0x7f) * place;
      if (byte < 0x80) return value;
      if (place > Number.MAX_SAFE_INTEGER) throw tooShort();
    }
  }

  bytes(length: number): Uint8Array {
    const end = this.#at + length;
    if (end > this.#bytes.length) throw tooShort();
    const found = this.#bytes.subarray(this.#at, end);
    this.#at = end;
    return found;
  }

  rest(): Uint8Array {
    return this.bytes(this.#bytes.length - this.#at);
  }
}

function tooShort(): AptoveError {
  return new AptoveError("storage_failed", "the bytes end too early");
}
