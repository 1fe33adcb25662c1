/**
 * Compression and a checksum for any blob store: the blob `a.json` is stored under `a.json.zst` as a zstd frame that any
 * `zstd -dc` reads (docs/formats/blobs.md).
 *
 * The frame has zstd's own checksum, which covers the content only. Bits of a frame can flip without changing the content,
 * and zstd ignores bytes after a frame. So a trailer of our own follows in a skippable frame, which zstd skips. It detects
 * every flipped bit and every cut (B3), and states the length of the content before any of it is unpacked.
 */
import { promisify } from "node:util";
import { constants, crc32, zstdCompress, zstdCompressSync, zstdDecompress, zstdDecompressSync } from "node:zlib";
import { AptoveError, failureOf } from "../domain/errors.ts";
import { limits } from "../domain/limits.ts";
import { blobExists, checkBlobKey, type BlobStore } from "./blob-store.ts";

const suffix = ".zst";
/** The compression level. Measured on 1 to 30 KB of text: level 6 saves 1 to 4 % more and takes over twice the time, 12 saves 1 to 5 % and takes three to ten times. */
const level = 3;
/** Up to this length compression takes less than 0.3 ms, about what handing it to another thread costs. */
const syncBytesMax = 32_768;

const parameters = {
  [constants.ZSTD_c_compressionLevel]: level,
  [constants.ZSTD_c_checksumFlag]: 1,
};

/**
 * Returns a store that keeps its blobs in `store`, compressed and with a checksum. It does not see other blobs of that store.
 * Its keys may be four characters shorter than those of `store`.
 */
export function compressedBlobs(store: BlobStore): BlobStore {
  const get = async (key: string): Promise<Uint8Array | null> => {
    const packed = await store.get(keptKey(key));
    return packed === null ? null : unpack(key, packed);
  };
  return {
    put: async (key, bytes) => {
      try {
        await store.put(keptKey(key), await pack(key, bytes));
      } catch (error) {
        // Another version of zstd compresses the same content to other bytes.
        if (!(error instanceof AptoveError && error.code === "blob_exists")) throw error;
        const kept = await get(key);
        if (kept === null || Buffer.compare(kept, bytes) !== 0) throw blobExists(key, error);
      }
    },
    get,
    delete: async (key) => store.delete(keptKey(key)),
    list: async (prefix) => {
      const keys = (await store.list(prefix)).filter((key) => key.endsWith(suffix));
      // `a.z` is a prefix of the key `a.zst`, under which `a` is stored, but not a prefix of `a`.
      return keys.map((key) => key.slice(0, -suffix.length)).filter((key) => key.startsWith(prefix));
    },
    size: async (key) => store.size(keptKey(key)),
  };
}

/**
 * Returns why the bytes of a stored blob cannot be read, in words that follow its key, or null if they can. `key` is that of the store below. Bytes that a newer
 * version wrote are not damaged.
 */
export async function findBlobDamage(key: string, packed: Uint8Array): Promise<string | null> {
  if (!key.endsWith(suffix)) return null;
  try {
    await unpack(key, packed);
    return null;
  } catch (error) {
    const { code, message } = failureOf(error);
    // The caller names the key itself.
    return code === "data_newer"
      ? null
      : `cannot be read: ${message.slice(message.lastIndexOf(`${key}: `) + key.length + 2)}`;
  }
}

function keptKey(key: string): string {
  // Checked first, because the suffix would make a key of a text that is none, such as the empty text.
  checkBlobKey(key);
  return key + suffix;
}

const compressElsewhere = promisify(zstdCompress);
const decompressElsewhere = promisify(zstdDecompress);

async function pack(key: string, bytes: Uint8Array): Promise<Uint8Array> {
  if (bytes.length > limits.blobBytesMax) {
    throw new AptoveError(
      "storage_failed",
      `the blob ${key} has ${bytes.length} of at most ${limits.blobBytesMax} bytes`,
    );
  }
  const options = { params: parameters, pledgedSrcSize: bytes.length };
  const isSmall = bytes.length <= syncBytesMax;
  const frame = isSmall ? zstdCompressSync(bytes, options) : await compressElsewhere(bytes, options);
  return Buffer.concat([frame, trailerOf(frame, bytes.length)]);
}

/** Returns the content. Throws `blob_damaged` or `data_newer`, naming the key, unless `packed` is byte for byte what `pack` returned. */
async function unpack(key: string, packed: Uint8Array): Promise<Uint8Array> {
  const frame = Buffer.from(packed.buffer, packed.byteOffset, Math.max(0, packed.length - trailerBytes));
  const trailer = packed.subarray(frame.length);
  const length = trailer.length < trailerBytes ? 0 : lengthIn(trailer);
  if (isNewer(frame, trailer)) throw newer(key);
  if (!trailerOf(frame, length).equals(trailer)) throw damaged(key, "its checksum does not match");
  if (length > limits.blobBytesMax) throw damaged(key, `it unpacks to more than ${limits.blobBytesMax} bytes`);
  const options = { maxOutputLength: Math.max(1, length) };
  try {
    const isSmall = length <= syncBytesMax;
    const bytes = isSmall ? zstdDecompressSync(frame, options) : await decompressElsewhere(frame, options);
    if (bytes.length === length) return bytes;
  } catch (cause) {
    throw damaged(key, `it does not unpack to ${length} bytes`, cause);
  }
  throw damaged(key, `it does not unpack to ${length} bytes`);
}

/*
 * The trailer, all numbers 32 bits and little-endian: the magic number of a skippable frame, the length of the rest (8), the
 * length of the content, the CRC-32 of everything before it.
 */
const trailerBytes = 16;
const skippableMagic = 0x184d2a50;

function trailerOf(frame: Uint8Array, length: number, magic = skippableMagic): Buffer {
  const trailer = Buffer.alloc(trailerBytes);
  trailer.writeUInt32LE(magic, 0);
  trailer.writeUInt32LE(8, 4);
  trailer.writeUInt32LE(length, 8);
  trailer.writeUInt32LE(crc32(trailer.subarray(0, 12), crc32(frame)), 12);
  return trailer;
}

/** Returns whether a later format wrote the blob. Such a format has another of the 16 magic numbers of skippable frames, and the right checksum shows that no bit flipped. */
function isNewer(frame: Uint8Array, trailer: Uint8Array): boolean {
  if (trailer.length < trailerBytes) return false;
  const magic = new DataView(trailer.buffer, trailer.byteOffset).getUint32(0, true);
  if (magic <= skippableMagic || magic > skippableMagic + 15) return false;
  return trailerOf(frame, lengthIn(trailer), magic).equals(trailer);
}

function newer(key: string): AptoveError {
  return new AptoveError("data_newer", `the blob ${key} was written by a newer version; update aptove`, {
    facts: { key },
  });
}

function lengthIn(trailer: Uint8Array): number {
  return new DataView(trailer.buffer, trailer.byteOffset).getUint32(8, true);
}

function damaged(key: string, how: string, cause?: unknown): AptoveError {
  return new AptoveError("blob_damaged", `${key}: ${how}`, { facts: { key }, cause });
}
