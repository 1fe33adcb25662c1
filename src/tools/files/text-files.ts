/**
 * Whole text files of a session, from the disk or from the client's editor, whose unsaved text counts where it offers
 * it (P4). Nothing that is not a regular file is ever waited for, and a write is seen whole or not at all.
 */
import { randomUUID } from "node:crypto";
import { lstatSync, renameSync, type BigIntStats } from "node:fs";
import { constants, lstat, open, rm, type FileHandle } from "node:fs/promises";
import { basename } from "node:path";
import { decodeText } from "../../domain/active-file.ts";
import { sha256 } from "../../domain/ids.ts";
import { limits } from "../../domain/limits.ts";
import { noFollowFlag, readRegularFlags } from "../../system/read-files.ts";
import { systemCode } from "../../system/system-error.ts";
import type { Place } from "../session-folders.ts";
import type { FileAccess } from "../session-tools.ts";
import { ToolFault } from "../tool-fault.ts";
import { inFolder, type At } from "./inside.ts";

export interface TextFile {
  text: string;
  /** SHA-256 of what was read. */
  sha256: string;
  /** False: some bytes are no UTF-8 and were replaced, so writing the text back would change them. */
  isExact: boolean;
  /** Of the file on disk; null where the client read it. */
  onDisk: OnDisk | null;
}

interface OnDisk {
  /** Changes whenever the file does. */
  stamp: string;
  mode: number;
  uid: number;
  gid: number;
}

export interface TextWrite {
  text: string;
  /** The file that the text was made from; null: there must be none. */
  before: TextFile | null;
  signal: AbortSignal;
}

export class TextFiles {
  readonly #client: Partial<FileAccess>;

  constructor(client: Partial<FileAccess> = {}) {
    this.#client = client;
  }

  /** Throws a ToolFault for what is no text file, or is too large. */
  async read(place: Place, signal: AbortSignal): Promise<TextFile> {
    if (this.#client.readText === undefined) return await readFromDisk(place);
    // What the disk says of it counts first: a client must not be asked for a device.
    if (place.kind !== null) await inFolder(place, { make: false }, (at) => regularFile(place, at));
    const text = await this.#client.readText(place.known, signal);
    const bytes = Buffer.byteLength(text);
    if (bytes > limits.toolFileBytesMax) throw tooLarge(place, bytes);
    if (text.includes("\0")) throw notText(place, bytes);
    return { text, sha256: sha256(text), isExact: true, onDisk: null };
  }

  /** Whether a path that is not on disk may all the same be open in the client. */
  get mayHaveUnsaved(): boolean {
    return this.#client.readText !== undefined;
  }

  /** Makes missing folders. Throws a ToolFault where the file is no longer the one that the text was made from. */
  async write(place: Place, { text, before, signal }: TextWrite): Promise<void> {
    if (this.#client.writeText === undefined) {
      await inFolder(place, { make: true }, (at) => replaceFile(place, at, { text, before, signal }));
      return;
    }
    await inFolder(place, { make: true }, async () => undefined);
    await this.#client.writeText(place.known, text, signal);
  }
}

async function readFromDisk(place: Place): Promise<TextFile> {
  return await inFolder(place, { make: false }, async (at) => {
    await regularFile(place, at);
    // Should it have become a FIFO or a link since, opening neither waits for it nor follows it.
    await using file = await open(at(basename(place.real)), readRegularFlags);
    const stats = await file.stat({ bigint: true });
    if (!stats.isFile()) throw notRegular(place);
    const content = await readBounded(place, file);
    const exact = decodeText(content);
    if (exact === null && content.includes(0)) throw notText(place, content.length);
    return {
      text: exact ?? new TextDecoder("utf-8", { ignoreBOM: true }).decode(content),
      sha256: sha256(content),
      isExact: exact !== null,
      onDisk: { stamp: stampOf(stats), mode: Number(stats.mode), uid: Number(stats.uid), gid: Number(stats.gid) },
    };
  });
}

async function regularFile(place: Place, at: At): Promise<void> {
  const stats = await lstat(at(basename(place.real)));
  if (!stats.isFile()) throw notRegular(place);
  if (stats.size > limits.toolFileBytesMax) throw tooLarge(place, stats.size);
}

/** What a file says of its size need not hold: it may grow, or be made up as it is read. */
async function readBounded(place: Place, file: FileHandle): Promise<Buffer> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  for (;;) {
    const piece = Buffer.allocUnsafe(pieces.length === 0 ? 65_536 : 1_048_576);
    const { bytesRead } = await file.read(piece, 0, piece.length, null);
    if (bytesRead === 0) return Buffer.concat(pieces);
    bytes += bytesRead;
    if (bytes > limits.toolFileBytesMax) throw tooLarge(place, bytes);
    pieces.push(piece.subarray(0, bytesRead));
  }
}

function stampOf({ dev, ino, size, mtimeNs, ctimeNs }: BigIntStats): string {
  return `${dev}:${ino}:${size}:${mtimeNs}:${ctimeNs}`;
}

function notRegular(place: Place): ToolFault {
  return new ToolFault(`${place.shown} is not a regular file`);
}

function tooLarge(place: Place, bytes: number): ToolFault {
  const max = `${limits.toolFileBytesMax / 1_048_576} MiB`;
  return new ToolFault(
    `${place.shown} has ${bytes} bytes, and at most ${max} can be taken; use a command to look at parts of it`,
  );
}

function notText(place: Place, bytes: number): ToolFault {
  return new ToolFault(`${place.shown} is not a text file (${bytes} bytes, binary)`);
}

async function replaceFile(place: Place, at: At, { text, before, signal }: TextWrite): Promise<void> {
  const name = basename(place.real);
  const aside = at(`.aptove-${randomUUID()}`);
  const old = before?.onDisk ?? null;
  try {
    await writeAside(aside, text, old);
    signal.throwIfAborted();
    // In one go, so that no other tool of this process comes in between.
    checkUnchanged(place, at(name), before);
    renameSync(aside, at(name));
  } catch (error) {
    await rm(aside, { force: true });
    throw error;
  }
}

async function writeAside(aside: string, text: string, old: OnDisk | null): Promise<void> {
  const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | noFollowFlag;
  await using file = await open(aside, flags, 0o666);
  await file.writeFile(text);
  if (old !== null) {
    await keepOwner(file, old);
    await file.chmod(old.mode & 0o7777);
  }
  await file.datasync();
}

/** Of a file of somebody else, when it is changed by root or by one of its group. */
async function keepOwner(file: FileHandle, { uid, gid }: OnDisk): Promise<void> {
  const stats = await file.stat();
  if (stats.uid === uid && stats.gid === gid) return;
  try {
    await file.chown(uid, gid);
  } catch (error) {
    // Only root may give files away; then it is ours from now on, as it is with every editor.
    if (systemCode(error) !== "EPERM") throw error;
  }
}

function checkUnchanged(place: Place, path: string, before: TextFile | null): void {
  const stats = lstatSync(path, { bigint: true, throwIfNoEntry: false });
  if (stats === undefined && before === null) return;
  // Where the client read the file, its text need not be the disk's, so there is nothing to compare.
  const isSame = stats?.isFile() === true && before !== null && (before.onDisk?.stamp ?? null) === stampOf(stats);
  const isClients = stats?.isFile() === true && before !== null && before.onDisk === null;
  if (isSame || isClients) {
    if ((stats.mode & 0o222n) === 0n) throw new ToolFault(`${place.shown} may not be written: it is read-only`);
    return;
  }
  throw new ToolFault(`${place.shown} changed while it was being written; read it again`);
}
