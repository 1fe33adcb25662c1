/**
 * Stores the lines of an import until the whole file is checked, because nothing may be written before that, and the
 * caller sends the lines only once. The spool is a file in the system's temporary folder (TMPDIR), because a server
 * whose stores are elsewhere has no folder of its own. If the system allows it, the file has no name, so that nothing
 * is left behind whatever happens.
 */
import { mkdtemp, open, rm, type FileHandle } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { storageFault } from "../../domain/storage-fault.ts";

/** The position of a line in the file, in bytes. */
export interface SpooledLine {
  at: number;
  bytes: number;
}

const bufferBytesMax = 1_048_576;

export class Spool {
  readonly #file: FileHandle;
  readonly #folder: string;
  #buffer: Buffer[] = [];
  #buffered = 0;
  #written = 0;

  private constructor(file: FileHandle, folder: string) {
    this.#file = file;
    this.#folder = folder;
  }

  static async open(): Promise<Spool> {
    try {
      const folder = await mkdtemp(join(tmpdir(), "aptove-import-"));
      const file = await open(join(folder, "lines"), "wx+", 0o600);
      if (process.platform !== "win32") await rm(folder, { recursive: true });
      return new Spool(file, folder);
    } catch (cause) {
      throw storageFault("the temporary file for the import could not be made", cause);
    }
  }

  async add(line: string): Promise<SpooledLine> {
    const bytes = Buffer.from(line);
    const place = { at: this.#written + this.#buffered, bytes: bytes.length };
    this.#buffer.push(bytes);
    this.#buffered += bytes.length;
    if (this.#buffered >= bufferBytesMax) await this.flush();
    return place;
  }

  /** Writes the buffered lines. Call it after the last line, before the first is read. */
  async flush(): Promise<void> {
    const bytes = Buffer.concat(this.#buffer);
    this.#buffer = [];
    this.#buffered = 0;
    try {
      for (let at = 0; at < bytes.length;) {
        const { bytesWritten } = await this.#file.write(bytes, at, bytes.length - at, this.#written);
        at += bytesWritten;
        this.#written += bytesWritten;
      }
    } catch (cause) {
      throw storageFault("the lines of the import could not be written to the temporary file", cause);
    }
  }

  async read({ at, bytes }: SpooledLine): Promise<string> {
    try {
      const buffer = Buffer.allocUnsafe(bytes);
      for (let read = 0; read < bytes;) {
        const { bytesRead } = await this.#file.read(buffer, read, bytes - read, at + read);
        if (bytesRead === 0) throw storageFault("the temporary file of the import was cut off", null);
        read += bytesRead;
      }
      return buffer.toString("utf8");
    } catch (cause) {
      throw storageFault("the temporary file of the import could not be read", cause);
    }
  }

  async close(): Promise<void> {
    await this.#file.close();
    await rm(this.#folder, { recursive: true, force: true });
  }
}
