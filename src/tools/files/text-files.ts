/**
 * Reads and writes whole text files of a session, on the disk or through the client's editor. If the client offers it, the
 * editor's unsaved text is used (P4). Only regular files are opened, so no read blocks. A write is visible whole or not at all.
 */
import { randomUUID } from "node:crypto";
import { lstatSync, renameSync, type BigIntStats } from "node:fs";
import { constants, lstat, open, rm, type FileHandle } from "node:fs/promises";
import { basename } from "node:path";
import { decodeText } from "../../domain/active-file.ts";
import { sha256 } from "../../domain/ids.ts";
import { limits } from "../../domain/limits.ts";
import { unlessAborted } from "../../system/abort.ts";
import { noFollowFlag, readRegularFlags } from "../../system/read-files.ts";
import { systemCode } from "../../system/system-error.ts";
import type { SessionPath } from "../session-folders.ts";
import type { FileAccess } from "../session-tools.ts";
import { systemText, ToolFault } from "../tool-fault.ts";
import { insideFolder, type PathOfName } from "./folder-access.ts";
import { inFormOf } from "./replacement.ts";

export interface TextFile {
  text: string;
  /** SHA-256 of the content that was read. */
  sha256: string;
  /** False if some bytes are not UTF-8 and were replaced. Then writing the text back would change them. */
  isExact: boolean;
  /** Facts about the file on disk. Null if it is not there, or if the client writes it. */
  onDisk: OnDisk | null;
}

interface OnDisk {
  /** A value that changes whenever the file changes. */
  stamp: string;
  mode: number;
  uid: number;
  gid: number;
}

export interface TextWrite {
  text: string;
  /** The file that the text was made from. Null if no file may exist there. */
  before: TextFile | null;
  signal: AbortSignal;
}

export class TextFiles {
  readonly #client: Partial<FileAccess>;

  constructor(client: Partial<FileAccess> = {}) {
    this.#client = client;
  }

  /** Reads a text file that exists on disk. Throws a ToolFault for a file that is not text or is too large. */
  async read(target: SessionPath, signal: AbortSignal): Promise<TextFile> {
    const { readText, writeText } = this.#client;
    if (readText === undefined) return textOfDisk(target, await readFromDisk(target));
    // The disk is checked first, because the client must not be asked to read a device.
    await insideFolder(target, { makesMissing: false }, (at) => regularFile(target, at));
    const answer = await clientsText(target, readText, signal);
    if ("refusal" in answer) throw new ToolFault(`${target.shown} was not returned by the editor: ${answer.refusal}`);
    const file = textOfClient(target, answer.text);
    if (writeText === undefined) return asOnDisk(file, await readFromDisk(target));
    // An editor that does not know the encoding replaces what it cannot read, and would save the replacements.
    if (!file.text.includes("\ufffd")) return file;
    return { ...file, isExact: decodeText((await readFromDisk(target)).content) !== null };
  }

  /**
   * Reads a text file that may be open in the client and not exist on disk yet. Null if it is in neither place. A client that
   * refuses has no such text: many do not say why. An empty text counts as none, because some clients return it for a file
   * that does not exist, and it has nothing that could be lost. Throws as `read` does.
   */
  async readIfPresent(target: SessionPath, signal: AbortSignal): Promise<TextFile | null> {
    if (target.kind !== null) return await this.read(target, signal);
    const { readText } = this.#client;
    if (readText === undefined) return null;
    const answer = await clientsText(target, readText, signal);
    return "refusal" in answer || answer.text === "" ? null : textOfClient(target, answer.text);
  }

  /** Writes the file and makes missing folders. Throws a ToolFault if the file changed since `before` was read. */
  async write(target: SessionPath, { text, before, signal }: TextWrite): Promise<void> {
    if (this.#client.writeText === undefined) {
      await insideFolder(target, { makesMissing: true }, (at) => replaceFile(target, at, { text, before, signal }));
      return;
    }
    await insideFolder(target, { makesMissing: true }, async () => undefined);
    await this.#client.writeText(target.known, text, signal);
  }
}

/**
 * Asks the client for the text, and returns it or why it was refused. Throws a ToolFault if the client does not answer in
 * time: what it has open is not known then, so nothing may be written.
 */
async function clientsText(
  target: SessionPath,
  readText: FileAccess["readText"],
  signal: AbortSignal,
): Promise<{ text: string } | { refusal: string }> {
  try {
    return { text: await unlessAborted(readText(target.known, signal), signal) };
  } catch (error) {
    if (!signal.aborted) return { refusal: systemText(error) ?? String(error) };
    if (!isTimeout(signal.reason)) throw error;
    throw new ToolFault(`${target.shown} was not read: the editor did not answer in time; try again`);
  }
}

function isTimeout(reason: unknown): boolean {
  return reason instanceof DOMException && reason.name === "TimeoutError";
}

function textOfClient(target: SessionPath, text: string): TextFile {
  const bytes = Buffer.byteLength(text);
  if (bytes > limits.toolFileBytesMax) throw tooLarge(target, bytes);
  if (text.includes("\0")) throw notText(target, bytes);
  return { text, sha256: sha256(text), isExact: true, onDisk: null };
}

/** Returns the client's text as this process must write it to the disk: with the byte order mark and the line endings that many clients leave out. */
function asOnDisk(file: TextFile, { content, onDisk }: DiskContent): TextFile {
  const exact = decodeText(content);
  if (exact === null) return { ...file, isExact: false, onDisk };
  // A file without unsaved changes is taken as it is, because its line endings may be mixed.
  const text = plainForm(exact) === plainForm(file.text) ? exact : inFormOf(exact, file.text);
  return { text, sha256: sha256(text), isExact: true, onDisk };
}

function plainForm(text: string): string {
  return text.replace(/^\ufeff/, "").replaceAll("\r\n", "\n");
}

interface DiskContent {
  content: Buffer;
  onDisk: OnDisk;
}

async function readFromDisk(target: SessionPath): Promise<DiskContent> {
  return await insideFolder(target, { makesMissing: false }, async (at) => {
    await regularFile(target, at);
    // If it has become a FIFO or a link in the meantime, opening it neither blocks nor follows the link.
    await using file = await open(at(basename(target.real)), readRegularFlags);
    const stats = await file.stat({ bigint: true });
    if (!stats.isFile()) throw notRegular(target);
    const content = await readBounded(target, file);
    const onDisk = { stamp: stampOf(stats), mode: Number(stats.mode), uid: Number(stats.uid), gid: Number(stats.gid) };
    return { content, onDisk };
  });
}

function textOfDisk(target: SessionPath, { content, onDisk }: DiskContent): TextFile {
  const exact = decodeText(content);
  if (exact === null && content.includes(0)) throw notText(target, content.length);
  const text = exact ?? new TextDecoder("utf-8", { ignoreBOM: true }).decode(content);
  return { text, sha256: sha256(content), isExact: exact !== null, onDisk };
}

async function regularFile(target: SessionPath, at: PathOfName): Promise<void> {
  const stats = await lstat(at(basename(target.real)));
  if (!stats.isFile()) throw notRegular(target);
  if (stats.size > limits.toolFileBytesMax) throw tooLarge(target, stats.size);
}

/** Reads at most the allowed size. The size from `stat` may be wrong: a file may grow, or be generated while it is read. */
async function readBounded(target: SessionPath, file: FileHandle): Promise<Buffer> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  for (;;) {
    const piece = Buffer.allocUnsafe(pieces.length === 0 ? 65_536 : 1_048_576);
    const { bytesRead } = await file.read(piece, 0, piece.length, null);
    if (bytesRead === 0) return Buffer.concat(pieces);
    bytes += bytesRead;
    if (bytes > limits.toolFileBytesMax) throw tooLarge(target, bytes);
    pieces.push(piece.subarray(0, bytesRead));
  }
}

function stampOf({ dev, ino, size, mtimeNs, ctimeNs }: BigIntStats): string {
  return `${dev}:${ino}:${size}:${mtimeNs}:${ctimeNs}`;
}

function notRegular(target: SessionPath): ToolFault {
  return new ToolFault(`${target.shown} is not a regular file`);
}

function tooLarge(target: SessionPath, bytes: number): ToolFault {
  const max = `${limits.toolFileBytesMax / 1_048_576} MiB`;
  return new ToolFault(
    `${target.shown} has ${bytes} bytes, and at most ${max} can be read; use a command to read parts of it`,
  );
}

function notText(target: SessionPath, bytes: number): ToolFault {
  return new ToolFault(`${target.shown} is not a text file (${bytes} bytes, binary)`);
}

async function replaceFile(target: SessionPath, at: PathOfName, { text, before, signal }: TextWrite): Promise<void> {
  const name = basename(target.real);
  const aside = at(`.aptove-${randomUUID()}`);
  const old = before?.onDisk ?? null;
  try {
    await writeAside(aside, text, old);
    signal.throwIfAborted();
    // Both calls are synchronous, so that no other tool of this process runs between them.
    checkUnchanged(target, at(name), before);
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

/** Keeps the owner of a file that belongs to another user, when root or a member of its group changes it. */
async function keepOwner(file: FileHandle, { uid, gid }: OnDisk): Promise<void> {
  const stats = await file.stat();
  if (stats.uid === uid && stats.gid === gid) return;
  try {
    await file.chown(uid, gid);
  } catch (error) {
    // Only root may change the owner of a file. Without that right the file becomes ours, as with every editor.
    if (systemCode(error) !== "EPERM") throw error;
  }
}

function checkUnchanged(target: SessionPath, path: string, before: TextFile | null): void {
  const stats = lstatSync(path, { bigint: true, throwIfNoEntry: false });
  const stamp = stats === undefined ? null : stampOf(stats);
  // A text that only the client has is not on disk.
  if (stamp === (before?.onDisk?.stamp ?? null)) {
    if (stats === undefined || (stats.mode & 0o222n) !== 0n) return;
    throw new ToolFault(`${target.shown} may not be written: it is read-only`);
  }
  throw new ToolFault(`${target.shown} changed while it was being written; read it again`);
}
