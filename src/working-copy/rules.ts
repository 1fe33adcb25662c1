/**
 * Finds the files with rules of a repository (M1): `AGENTS.md` in each folder from its top down to the working folder,
 * or the file of another agent where a folder has none. Nothing outside of the repository is read, whatever links say.
 */
import { lstat, open, realpath } from "node:fs/promises";
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
 * Returns the files, from the top down to the working folder. Both paths have no links. Never rejects: a file that cannot
 * be used has the reason.
 */
export async function findRules(root: string, folder: string): Promise<RulesFile[]> {
  const parts = relative(root, folder)
    .split(sep)
    .filter((part) => part !== "");
  // A folder with so many parents has its rules near to it.
  const first = Math.max(0, parts.length - limits.rulesFilesMax);
  const folders = Array.from({ length: parts.length - first + 1 }, (_, at) => parts.slice(0, first + at));
  const found = await Promise.all(folders.map((names) => rulesOfFolder(root, names)));
  return found.filter((file) => file !== null);
}

async function rulesOfFolder(root: string, folders: readonly string[]): Promise<RulesFile | null> {
  for (const name of rulesNames) {
    const path = [...folders, name].join("/");
    const content = await contentOf(root, join(root, ...folders, name));
    if (content !== null) return { path, ...content };
  }
  return null;
}

type RulesContent = Pick<RulesFile, "text" | "fault">;

function unusable(fault: string): RulesContent {
  return { text: null, fault };
}

/** Returns what the file has. Null: there is no such file. */
async function contentOf(root: string, file: string): Promise<RulesContent | null> {
  try {
    const stats = await lstat(file).catch(absent);
    if (stats === null) return null;
    const real = await realpath(file).catch(absent);
    if (real === null) return unusable("it is a link to nothing");
    const fault = linkFault(root, real, { isLink: stats.isSymbolicLink() });
    return fault === null ? await read(real) : unusable(fault);
  } catch (error) {
    return unusable(`it cannot be read (${systemCode(error) || String(error)})`);
  }
}

function absent(error: unknown): null {
  if (isAbsence(error)) return null;
  throw error;
}

/** A link may lead to another Markdown file of the repository, never to a file that could have secrets. */
function linkFault(root: string, real: string, { isLink }: { isLink: boolean }): string | null {
  if (!real.startsWith(root.endsWith(sep) ? root : root + sep)) return "it is a link that leaves the repository";
  if (!isLink) return null;
  if (relative(root, real).split(sep).includes(".git")) return "it is a link into the folder of git";
  return /\.md$/i.test(basename(real)) ? null : "it is a link to a file that is not Markdown";
}

async function read(real: string): Promise<RulesContent> {
  if (!(await lstat(real)).isFile()) return unusable("it is not a regular file");
  await using file = await open(real, readRegularFlags);
  const { size } = await file.stat();
  const buffer = new Uint8Array(readBytesMax);
  let length = 0;
  for (let more = 1; more > 0 && length < readBytesMax; length += more) {
    more = (await file.read(buffer, length, readBytesMax - length)).bytesRead;
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
