/** Marks stand in the bytes of a turn for something that is known from elsewhere. A mark is the byte 255 and a number. */
import type { ByteReader } from "./byte-writer.ts";

/** The order is part of the format. A number above them is the rank of a value that was used before. */
const kinds = ["byte", "text", "seed", "uuid", "hex"] as const;
export const markByte = 0xff;

/** What a mark stands for: the byte itself, a text, or a value. `rank` is 0 but for `again`. */
export interface Marks {
  kind: (typeof kinds)[number] | "again";
  rank: number;
}

export function mark(kind: Marks["kind"], rank = 0): string {
  return String.fromCharCode(markByte) + number(kind === "again" ? kinds.length + rank : kinds.indexOf(kind));
}

/** Writes a number as `ByteWriter` does. */
export function number(value: number): string {
  let text = "";
  let left = value;
  for (; left > 0x7f; left = Math.floor(left / 0x80)) text += String.fromCharCode((left % 0x80) | 0x80);
  return text + String.fromCharCode(left);
}

/** Reads what follows the byte of a mark. */
export function readMark(reader: ByteReader): Marks {
  const value = reader.number();
  const kind = kinds[value];
  return kind === undefined ? { kind: "again", rank: value - kinds.length } : { kind, rank: 0 };
}
