/**
 * Reads Markdown files that a repository has for agents. Nothing outside of it is read, whatever links say, and no file that
 * could have secrets.
 */
import { closeSync, fstatSync, lstatSync, openSync, readSync, realpathSync } from "node:fs";
import { basename, relative, sep } from "node:path";
import { readRegularFlags } from "../system/read-files.ts";
import { nullIfAbsent, systemCode } from "../system/system-error.ts";

/** What a file has. */
export interface MarkdownContent {
  /** The text, or its beginning. Null if it cannot be used. */
  text: string | null;
  /** Why the file cannot be used. Absent: it can. */
  fault?: string;
}

interface MarkdownFile {
  /** The folder that the file may not leave. It has no links. */
  root: string;
  /** What the folder is. */
  rootIs?: "repository" | "workspace";
  file: string;
  /** What is read of it. */
  bytesMax: number;
}

function unusable(fault: string): MarkdownContent {
  return { text: null, fault };
}

/** Returns what the file has. Null: there is no such file. Never throws. */
export function readMarkdown({ root, rootIs = "repository", file, bytesMax }: MarkdownFile): MarkdownContent | null {
  try {
    if (lstatSync(file, { throwIfNoEntry: false }) === undefined) return null;
    const real = nullIfAbsent(() => realpathSync.native(file));
    if (real === null) return unusable("it is a link to nothing");
    if (!isBelow(real, root)) return unusable(`it is a link that leaves the ${rootIs}`);
    const fault = real === file ? null : linkFault(root, real);
    return fault === null ? read(real, bytesMax) : unusable(fault);
  } catch (error) {
    return unusable(`it cannot be read (${systemCode(error) || String(error)})`);
  }
}

/** Returns true if a path is below a folder. Both have no links. */
export function isBelow(real: string, root: string): boolean {
  return real.startsWith(root.endsWith(sep) ? root : root + sep);
}

/** A link may lead to another Markdown file, never to a file that could have secrets. */
function linkFault(root: string, real: string): string | null {
  if (relative(root, real).split(sep).includes(".git")) return "it is a link into the folder of git";
  return /\.md$/i.test(basename(real)) ? null : "it is a link to a file that is not Markdown";
}

function read(real: string, bytesMax: number): MarkdownContent {
  if (!lstatSync(real).isFile()) return unusable("it is not a regular file");
  const file = openSync(real, readRegularFlags);
  try {
    return readOpen(file, bytesMax);
  } finally {
    closeSync(file);
  }
}

function readOpen(file: number, bytesMax: number): MarkdownContent {
  const { size } = fstatSync(file);
  const buffer = new Uint8Array(Math.min(size + 1, bytesMax));
  let length = 0;
  for (let more = 1; more > 0 && length < buffer.length; length += more) {
    more = readSync(file, buffer, length, buffer.length - length, null);
  }
  const bytes = buffer.subarray(0, length);
  if (bytes.includes(0)) return unusable("it is not text");
  try {
    // The end of what was read may divide a character.
    return { text: new TextDecoder("utf-8", { fatal: true }).decode(bytes, { stream: size > length }) };
  } catch {
    return unusable("it is not UTF-8 text");
  }
}
