/**
 * Finds the files with rules of a repository (M1): `AGENTS.md` in each folder from its top down to the working folder,
 * or the file of another agent where a folder has none. Nothing outside of the repository is read, whatever links say.
 */
import { closeSync, fstatSync, lstatSync, openSync, readSync, realpathSync } from "node:fs";
import { basename, join, relative, sep } from "node:path";
import type { RulesFile } from "../domain/context.ts";
import { limits } from "../domain/limits.ts";
import { readRegularFlags } from "../system/read-files.ts";
import { isAbsence, systemCode } from "../system/system-error.ts";

/** The names, in the order in which they count. Only the first one that a folder has is used. */
const rulesNames = ["AGENTS.md", "CLAUDE.md", "GEMINI.md"] as const;

/** What is read of a file. The engine cuts a longer text, and says so. */
const readBytesMax = limits.rulesFileBytesMax + 1_024;

/**
 * Returns the files, from the top down to the working folder. Both paths have no links. Never throws: a file that cannot
 * be used has the reason.
 */
export function findRules(root: string, folder: string): RulesFile[] {
  const parts = relative(root, folder)
    .split(sep)
    .filter((part) => part !== "");
  // A folder with so many parents has its rules near to it.
  const first = Math.max(0, parts.length - limits.rulesFilesMax);
  const folders = Array.from({ length: parts.length - first + 1 }, (_, at) => parts.slice(0, first + at));
  return folders.map((names) => rulesOfFolder(root, names)).filter((file) => file !== null);
}

function rulesOfFolder(root: string, folders: readonly string[]): RulesFile | null {
  for (const name of rulesNames) {
    const path = [...folders, name].join("/");
    const content = contentOf(root, join(root, ...folders, name));
    if (content !== null) return { path, ...content };
  }
  return null;
}

type RulesContent = Pick<RulesFile, "text" | "fault">;

function unusable(fault: string): RulesContent {
  return { text: null, fault };
}

/** Returns what the file has. Null: there is no such file. */
function contentOf(root: string, file: string): RulesContent | null {
  try {
    const stats = orNull(() => lstatSync(file));
    if (stats === null) return null;
    const real = orNull(() => realpathSync.native(file));
    if (real === null) return unusable("it is a link to nothing");
    const fault = linkFault(root, real, { isLink: stats.isSymbolicLink() });
    return fault === null ? read(real) : unusable(fault);
  } catch (error) {
    return unusable(`it cannot be read (${systemCode(error) || String(error)})`);
  }
}

/** Returns null if there is nothing at the path that is asked about. */
function orNull<T>(ask: () => T): T | null {
  try {
    return ask();
  } catch (error) {
    if (isAbsence(error)) return null;
    throw error;
  }
}

/** A link may lead to another Markdown file of the repository, never to a file that could have secrets. */
function linkFault(root: string, real: string, { isLink }: { isLink: boolean }): string | null {
  if (!real.startsWith(root.endsWith(sep) ? root : root + sep)) return "it is a link that leaves the repository";
  if (!isLink) return null;
  if (relative(root, real).split(sep).includes(".git")) return "it is a link into the folder of git";
  return /\.md$/i.test(basename(real)) ? null : "it is a link to a file that is not Markdown";
}

function read(real: string): RulesContent {
  if (!lstatSync(real).isFile()) return unusable("it is not a regular file");
  const file = openSync(real, readRegularFlags);
  try {
    return readOpen(file);
  } finally {
    closeSync(file);
  }
}

function readOpen(file: number): RulesContent {
  const { size } = fstatSync(file);
  const buffer = new Uint8Array(Math.min(size + 1, readBytesMax));
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
