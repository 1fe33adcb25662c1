/**
 * Finds the files with rules of a repository (M1): `AGENTS.md` in each folder from its top down to the working folder,
 * or the file of another agent where a folder has none. Nothing outside of the repository is read, whatever links say.
 */
import { join, relative, sep } from "node:path";
import type { RulesFile } from "../domain/context.ts";
import { limits } from "../domain/limits.ts";
import { readMarkdown } from "./markdown-files.ts";

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
    const content = readMarkdown({ root, file: join(root, ...folders, name), bytesMax: readBytesMax });
    if (content !== null) return { path, ...content };
  }
  return null;
}
