/**
 * Files that can be read at any place. A history that its tool has compressed (zstd) is unpacked into a temporary folder, which is
 * removed when the reading ends.
 */
import { createReadStream, createWriteStream } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { createZstdDecompress } from "node:zlib";
import { AptoveError } from "../domain/errors.ts";

/** The largest history that is unpacked. */
const unpackedBytesMax = 8_589_934_592;

export class PlainFiles {
  readonly #unpacked = new Map<string, string>();
  #folder: string | null = null;

  /** Returns the path of the readable file. Throws `import_invalid` if it is damaged or too large. */
  async of(path: string): Promise<string> {
    if (!path.endsWith(".zst")) return path;
    const known = this.#unpacked.get(path);
    if (known !== undefined) return known;
    this.#folder ??= await mkdtemp(join(tmpdir(), "aptove-history-"));
    const plain = join(this.#folder, `${this.#unpacked.size}.jsonl`);
    this.#unpacked.set(path, plain);
    try {
      await pipeline(
        createReadStream(path),
        createZstdDecompress(),
        bounded,
        createWriteStream(plain, { mode: 0o600 }),
      );
    } catch (error) {
      if (error instanceof AptoveError || (error as NodeJS.ErrnoException).syscall !== undefined) throw error;
      throw new AptoveError("import_invalid", `${path} cannot be unpacked: ${(error as Error).message}`);
    }
    return plain;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#folder !== null) await rm(this.#folder, { recursive: true, force: true });
  }
}

async function* bounded(pieces: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let size = 0;
  for await (const piece of pieces) {
    size += piece.length;
    if (size > unpackedBytesMax)
      throw new AptoveError("import_invalid", `the history is larger than ${unpackedBytesMax} bytes`);
    yield piece;
  }
}
