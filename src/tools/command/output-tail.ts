/** The end of an output of any length, in bounded memory. */
export class OutputTail {
  readonly #bytesMax: number;
  #pieces: Buffer[] = [];
  #kept = 0;
  /** All that was written, kept or not. */
  bytes = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  add(piece: Buffer): void {
    this.bytes += piece.length;
    this.#kept += piece.length;
    this.#pieces.push(piece);
    // Twice as much as is asked for, so that it is not copied at every piece.
    if (this.#kept > 2 * this.#bytesMax || this.#pieces.length > 4_096) this.#pack();
  }

  get isCut(): boolean {
    return this.bytes > this.#bytesMax;
  }

  /** What is no UTF-8 becomes U+FFFD; a letter that the cut goes through is left out. */
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
    // A copy, so that what is dropped is freed.
    const end = all.length > this.#bytesMax ? Buffer.from(all.subarray(all.length - this.#bytesMax)) : all;
    this.#pieces = end.length === 0 ? [] : [end];
    this.#kept = end.length;
  }
}
