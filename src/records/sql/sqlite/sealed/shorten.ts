/** Leaves out of the bytes of a turn what is known from elsewhere (K6): its texts, and its ids and hashes after the first time. */
import { AptoveError } from "../../../../domain/errors.ts";
import { ByteReader } from "./byte-writer.ts";
import { KnownValues, valuePattern } from "./known-values.ts";
import { mark, markByte, MarkReader, number } from "./marks.ts";

/** A shorter text is not worth a mark. */
const textBytesMin = 16;

/** What the reader and the writer of bytes know. */
export interface Known {
  /** Texts as they may stand in the bytes, each byte as one character. */
  texts: readonly string[];
  /** The values of the parts of the turn that stand before. */
  values: readonly string[];
  /** The values of the earlier turn. */
  seedValues: readonly string[];
}

export interface Shortened {
  short: Buffer;
  /** The values that are nowhere else, as bytes. */
  fresh: Buffer;
  /** All values of the turn up to the end of these bytes. */
  values: readonly string[];
}

export function shorten(bytes: Buffer, { texts, values, seedValues }: Known): Shortened {
  const known = new KnownValues(values, seedValues);
  const fresh: Uint8Array[] = [];
  const withMarks = (text: string): string =>
    text.replace(valuePattern, (found) => {
      if (found === markByte) return mark("byte");
      // The last of an odd number of digits stays.
      const value = found.includes("-") ? found : found.slice(0, found.length - (found.length % 2));
      return (known.markOf(value, fresh) ?? value) + found.slice(value.length);
    });
  let short = "";
  for (const piece of splitAtTexts(bytes.toString("latin1"), texts)) {
    short += typeof piece === "number" ? mark("text") + number(piece) : withMarks(piece);
  }
  return { short: Buffer.from(short, "latin1"), fresh: Buffer.concat(fresh), values: known.values };
}

/** Returns the bytes again, and all values of the turn up to their end. Throws `storage_failed` if a mark stands for nothing. */
export function lengthen(
  { short, fresh }: { short: Buffer; fresh: Uint8Array },
  { texts, values, seedValues }: Known,
): { bytes: Buffer; values: readonly string[] } {
  const known = new KnownValues(values, seedValues);
  const [reader, freshReader] = [new MarkReader(short), new ByteReader(fresh)];
  let bytes = "";
  while (!reader.isAtEnd) {
    const { text, isMark } = reader.untilMark();
    bytes += text;
    if (!isMark) break;
    const found = reader.mark();
    const meant = found.kind === "text" ? texts[reader.number()] : known.meantBy(found, reader, freshReader);
    if (meant === undefined) throw new AptoveError("storage_failed", "a mark stands for nothing");
    bytes += meant;
  }
  return { bytes: Buffer.from(bytes, "latin1"), values: known.values };
}

/** Splits bytes where one of the texts stands. A number is the place of a text in the list. */
function splitAtTexts(bytes: string, texts: readonly string[]): (string | number)[] {
  const longestFirst = texts
    .map((text, index) => ({ text, index }))
    .filter(({ text }) => text.length >= textBytesMin && bytes.includes(text))
    .toSorted((a, b) => b.text.length - a.text.length);
  let pieces: (string | number)[] = [bytes];
  for (const { text, index } of longestFirst) {
    pieces = pieces.flatMap((piece) => {
      if (typeof piece === "number") return [piece];
      return piece.split(text).flatMap((rest, at) => (at === 0 ? [rest] : [index, rest]));
    });
  }
  return pieces;
}
