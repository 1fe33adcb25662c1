/** A blob that is stored alone: one frame, and a checksum of it. */
import { crc32 } from "node:zlib";
import { AptoveError, failureOf } from "../domain/errors.ts";
import { limits } from "../domain/limits.ts";
import { packLongFrame, plainFrame, unpackLongFrame } from "../records/sql/sqlite/sealed/frames.ts";

/** Compressing so little takes longer than writing the rest of it. */
const plainBytesMax = 8_192;

export function checkBlobLength(key: string, { length }: Uint8Array): void {
  if (length <= limits.blobBytesMax) return;
  throw new AptoveError("storage_failed", `the blob ${key} has ${length} of at most ${limits.blobBytesMax} bytes`);
}

/** A frame and the CRC-32 of it, which finds what zstd's own checksum does not cover. A short blob that is deleted soon is not compressed. */
export async function packBlob(bytes: Uint8Array, { isKept = true } = {}): Promise<Buffer> {
  const isPlain = !isKept && bytes.length <= plainBytesMax;
  const frame = isPlain ? plainFrame(bytes) : await packLongFrame(bytes, []);
  const sum = Buffer.alloc(4);
  sum.writeUInt32LE(crc32(frame));
  return Buffer.concat([frame, sum]);
}

export async function unpackBlob(key: string, packed: Buffer): Promise<Buffer> {
  const frame = packed.subarray(0, Math.max(0, packed.length - 4));
  try {
    if (packed.length < 4 || packed.readUInt32LE(frame.length) !== crc32(frame)) {
      throw new AptoveError("blob_damaged", "its checksum does not match");
    }
    return await unpackLongFrame(frame, []);
  } catch (cause) {
    throw damagedBlob(key, cause);
  }
}

export function damagedBlob(key: string, cause: unknown): AptoveError {
  if (cause instanceof AptoveError && cause.facts["key"] === key) return cause;
  const why = failureOf(cause).message;
  return new AptoveError("blob_damaged", `${key}: ${why}`, { facts: { key }, cause });
}
