/** Keeps the end of an output of any length in bounded memory. */
export class OutputTail {
  readonly #bytesMax: number;
  #pieces: Buffer[] = [];
  #kept = 0;
  /** The number of bytes that were written, including dropped ones. */
  bytes = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  add(piece: Buffer): void {
    this.bytes += piece.length;
    this.#kept += piece.length;
    this.#pieces.push(piece);
    // Keeps up to twice the limit, so that the data is not copied for every piece.
    if (this.#kept > 2 * this.#bytesMax || this.#pieces.length > 4_096) this.#pack();
  }

  get isCut(): boolean {
    return this.bytes > this.#bytesMax;
  }

  /** Returns the kept text. Bytes that are not UTF-8 become U+FFFD. A character that the cut goes through is left out. */
  text(): string {
    this.#pack();
    let [all = Buffer.alloc(0)] = this.#pieces;
    if (this.isCut)
      all = all.subarray(
        Math.max(
          0,
          all.findIndex((byte) => (byte & 0xc0) !== 0x80),
        ),
      );
    return all.toString("utf8");
  }

  #pack(): void {
    const all = Buffer.concat(this.#pieces);
    // A copy, so that the memory of the dropped part is freed.
    const end = all.length > this.#bytesMax ? Buffer.from(all.subarray(all.length - this.#bytesMax)) : all;
    this.#pieces = end.length === 0 ? [] : [end];
    this.#kept = end.length;
  }
}
