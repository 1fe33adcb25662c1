/** One output of a shell during one call: what is between the mark that begins it and the mark that ends it, with the exit code. */
import { StringDecoder } from "node:string_decoder";

export class MarkedOutput {
  readonly #begin: Buffer;
  readonly #end: Buffer;
  readonly #decoder = new StringDecoder("utf8");
  /** The last bytes, which may be the beginning of a mark. */
  #held: Buffer = Buffer.alloc(0);
  #hasBegun = false;
  #exit: number | null = null;
  /** True if something came after the end: another process writes to this output too. */
  hasMore = false;
  text = "";
  #bytes = 0;
  readonly #bytesMax: number;
  readonly #onText: ((text: string) => void) | null;

  /** Keeps up to `bytesMax` bytes in `text`, or passes everything to `onText`. */
  constructor(mark: string, { bytesMax, onText }: { bytesMax: number; onText?: (text: string) => void }) {
    this.#bytesMax = onText === undefined ? bytesMax : Infinity;
    this.#onText = onText ?? null;
    this.#begin = Buffer.from(`${mark}\n`);
    this.#end = Buffer.from(`${mark} `);
  }

  get hasBegun(): boolean {
    return this.#hasBegun;
  }

  /** True if there is more than the most that may be written. `text` then lacks it. */
  get isTooLong(): boolean {
    return this.#bytes > this.#bytesMax;
  }

  /** The exit code. Null: the call has not ended. */
  get exit(): number | null {
    return this.#exit;
  }

  add(piece: Buffer): void {
    const bytes = this.#held.length === 0 ? piece : Buffer.concat([this.#held, piece]);
    if (this.#exit !== null) this.hasMore = true;
    else if (this.#hasBegun) this.#addInside(bytes);
    else this.#addBefore(bytes);
  }

  /** Drops what was written by others before the call. */
  #addBefore(bytes: Buffer): void {
    const at = bytes.indexOf(this.#begin);
    const end = bytes.indexOf(this.#end);
    this.#hasBegun = at !== -1;
    if (this.#hasBegun) this.#addInside(bytes.subarray(at + this.#begin.length));
    else if (end !== -1) this.#addInside(bytes.subarray(end));
    else this.#held = bytes.subarray(-this.#begin.length);
  }

  #addInside(bytes: Buffer): void {
    const at = bytes.indexOf(this.#end);
    const whole = at === -1 ? Math.max(0, bytes.length - this.#end.length) : at;
    this.#bytes += whole;
    // A text that is too long for the engine throws.
    if (!this.isTooLong) this.#take(this.#decoder.write(bytes.subarray(0, whole)));
    this.#held = bytes.subarray(whole);
    const lineEnd = at === -1 ? -1 : bytes.indexOf("\n", at);
    if (lineEnd === -1) return;
    this.#take(this.#decoder.end());
    this.#exit = Number(bytes.toString("latin1", at + this.#end.length, lineEnd));
    this.hasMore = lineEnd + 1 < bytes.length;
  }

  #take(text: string): void {
    if (this.#onText === null) this.text += text;
    else if (text !== "") this.#onText(text);
  }
}
