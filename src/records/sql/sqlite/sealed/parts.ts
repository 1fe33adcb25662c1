/**
 * A part is a piece of a turn's content: its row, its state, or its other blobs (docs/formats/records.md). What is known from
 * elsewhere is left out of it, and a frame has the rest. Its CRC-32 is that of the whole bytes. So a part that is read with other
 * texts, or with another earlier turn, than it was written with is an error, never other bytes.
 */
import { crc32 } from "node:zlib";
import { AptoveError } from "../../../../domain/errors.ts";
import { ByteReader, ByteWriter } from "./byte-writer.ts";
import { packLongFrame, unpackFrame, unpackLongFrame, withoutMagic, withMagic, type Before } from "./frames.ts";
import { lengthen, shorten, type Known } from "./shorten.ts";

/** Nothing is left out of longer bytes, because that is done on this thread. */
const shortenedBytesMax = 1_048_576;

/** An unpacked part. */
export interface Part {
  bytes: Buffer;
  /** The bytes without what is known from elsewhere, as they stand before the frames of a later turn. */
  short: Buffer;
  /** The ids and hashes of the turn up to the end of this part. */
  values: readonly string[];
}

/** What the reader and the writer of a part have. */
export interface Around extends Known {
  before: Before;
}

export const emptyPart: Part = { bytes: Buffer.alloc(0), short: Buffer.alloc(0), values: [] };

export async function packPart(bytes: Buffer, around: Around): Promise<{ packed: Buffer; part: Part }> {
  const isLong = bytes.length > shortenedBytesMax;
  const { short, fresh, values } = isLong
    ? { short: bytes, fresh: null, values: around.values }
    : shorten(bytes, around);
  const writer = new ByteWriter();
  const sum = Buffer.alloc(4);
  sum.writeUInt32LE(crc32(bytes));
  writer.bytes(sum);
  writer.number(fresh === null ? 0 : fresh.length + 1);
  if (fresh !== null) writer.bytes(fresh);
  writer.bytes(withoutMagic(await packLongFrame(short, around.before)));
  return { packed: writer.whole(), part: { bytes, short, values } };
}

/** Throws an error if the bytes are not those that were packed. */
export function unpackPart(packed: Uint8Array, around: Around): Part {
  const parsed = parse(packed);
  return whole(parsed, unpackFrame(parsed.frame, around.before), around);
}

/** The same, on another thread if the part is long. */
export async function unpackLongPart(packed: Uint8Array, around: Around): Promise<Part> {
  const parsed = parse(packed);
  return whole(parsed, await unpackLongFrame(parsed.frame, around.before), around);
}

interface ParsedPart {
  sum: number;
  /** Null: nothing was left out. */
  fresh: Uint8Array | null;
  frame: Buffer;
}

function parse(packed: Uint8Array): ParsedPart {
  const reader = new ByteReader(packed);
  const sum = Buffer.from(reader.bytes(4)).readUInt32LE();
  const freshBytes = reader.number();
  const fresh = freshBytes === 0 ? null : reader.bytes(freshBytes - 1);
  return { sum, fresh, frame: withMagic(reader.rest()) };
}

function whole({ sum, fresh }: ParsedPart, short: Buffer, known: Known): Part {
  const { bytes, values } = fresh === null ? { bytes: short, values: known.values } : lengthen({ short, fresh }, known);
  if (crc32(bytes) !== sum) throw new AptoveError("storage_failed", "its checksum does not match");
  return { bytes, short, values };
}
