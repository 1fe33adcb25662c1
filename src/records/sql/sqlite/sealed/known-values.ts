/**
 * Ids and hashes of a turn: bytes that look random, written as hex digits, some of them a dozen times (K6). Each is stored once as
 * bytes. Where it stands again, and where an earlier turn has it, a mark is enough. What was used last has the
 * smallest mark, so steps of a turn that look alike get the same marks.
 */
import type { ByteReader } from "./byte-writer.ts";
import { mark, markByte, number, type Mark, type MarkReader } from "./marks.ts";

/** Each byte of the text is one character of it. The byte of a mark is found too. */
export const valuePattern = /[0-9a-f]{8}(?:-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|[0-9a-f]{16,})|\xff/g;
/** The most values of a turn, so that looking for one stays quick. More stay as they are. */
const valuesMax = 1_000;
const uuidBytes = 16;

export class KnownValues {
  /** The values of the turn in the order in which they came first. */
  readonly values: string[];
  readonly #seed: readonly string[];
  /** The same values. The last one was used last. */
  readonly #recent: string[];

  /** `values` are those of the parts before this one, `seed` those of the earlier turn. */
  constructor(values: readonly string[], seed: readonly string[]) {
    this.values = [...values];
    this.#recent = [...values];
    this.#seed = seed;
  }

  /** Returns the mark that stands for a value. `fresh` receives the bytes of one that is nowhere else. Null: it must stay as it is. */
  markOf(value: string, fresh: Uint8Array[]): string | null {
    const place = this.#recent.lastIndexOf(value);
    if (place !== -1) {
      const rank = this.#recent.length - 1 - place;
      this.#use(rank);
      return mark("again", rank);
    }
    if (this.values.length >= valuesMax) return null;
    this.#add(value);
    const inSeed = this.#seed.indexOf(value);
    if (inSeed !== -1) return mark("seed") + number(inSeed);
    const isUuid = value.includes("-");
    const bytes = Buffer.from(isUuid ? value.replaceAll("-", "") : value, "hex");
    fresh.push(bytes);
    return isUuid ? mark("uuid") : mark("hex") + number(bytes.length);
  }

  /** Returns what a mark stands for. `reader` has what follows the mark. Undefined: there is no such value. */
  meantBy({ kind, rank }: Mark, reader: MarkReader, fresh: ByteReader): string | undefined {
    if (kind === "byte") return markByte;
    if (kind === "again") return this.#use(rank);
    const value = this.#newValue(kind, reader, fresh);
    if (value !== undefined) this.#add(value);
    return value;
  }

  #newValue(kind: Mark["kind"], reader: MarkReader, fresh: ByteReader): string | undefined {
    if (kind === "seed") return this.#seed[reader.number()];
    const hex = Buffer.from(fresh.bytes(kind === "uuid" ? uuidBytes : reader.number())).toString("hex");
    return kind === "uuid" ? hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-") : hex;
  }

  #add(value: string): void {
    this.values.push(value);
    this.#recent.push(value);
  }

  #use(rank: number): string | undefined {
    const place = this.#recent.length - 1 - rank;
    const value = this.#recent[place];
    if (rank === 0 || value === undefined) return value;
    this.#recent.splice(place, 1);
    this.#recent.push(value);
    return value;
  }
}
