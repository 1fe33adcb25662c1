/**
 * Finds skills on this machine (M4): those of a repository, in the folders in which agents keep them, from the working folder
 * up to its top, and those of a workspace. Nothing outside of the repository or the workspace is read, whatever links say.
 */
import { lstatSync, opendirSync, realpathSync } from "node:fs";
import { join, relative, sep } from "node:path";
import { limits } from "../domain/limits.ts";
import { skillFileName, type SkillFile } from "../domain/skill.ts";
import { isAbsence, systemCode } from "../system/system-error.ts";
import { isBelow, readMarkdown } from "./markdown-files.ts";

/** The folders in which repositories keep skills, in the order in which they count. The first one is what programs have agreed on. */
const agentFolders = [".agents/skills", ".claude/skills", ".codex/skills", ".github/skills"] as const;

/** What is read of a file. The engine cuts a longer text, and says so. */
const readBytesMax = limits.skillFileBytesMax + 1_024;

/**
 * Returns the skills of a repository, those nearest to the working folder first. Both paths have no links. Never throws: a
 * file that cannot be used has the reason.
 */
export function findSkills(root: string, folder: string): SkillFile[] {
  const parts = relative(root, folder)
    .split(sep)
    .filter((part) => part !== "");
  const first = Math.max(0, parts.length - limits.rulesFilesMax);
  const folders = Array.from({ length: parts.length - first + 1 }, (_, at) => parts.slice(0, first + at));
  const places = folders.toReversed().flatMap((names) => agentFolders.map((name) => [...names, name].join("/")));
  return bounded(places.flatMap((place) => skillsIn({ root, rootIs: "repository" }, place)));
}

/** Returns the skills of a workspace. Never throws. */
export function findWorkspaceSkills(folder: string): SkillFile[] {
  try {
    if (isEmptyFolder(join(folder, "skills"))) return [];
    return bounded(skillsIn({ root: realpathSync.native(folder), rootIs: "workspace" }, "skills"));
  } catch (error) {
    if (isAbsence(error)) return [];
    return [{ path: "skills", text: null, fault: `it cannot be read (${systemCode(error) || String(error)})` }];
  }
}

/** Returns true for the folder of a new workspace. Each turn asks, and resolving the links of a path takes longer than this. */
function isEmptyFolder(path: string): boolean {
  if (!lstatSync(path).isDirectory()) return false;
  const folder = opendirSync(path);
  try {
    return folder.readSync() === null;
  } finally {
    folder.closeSync();
  }
}

interface SkillsRoot {
  root: string;
  rootIs: "repository" | "workspace";
}

function skillsIn({ root, rootIs }: SkillsRoot, place: string): SkillFile[] {
  const names = namesIn({ root, rootIs }, place);
  if (!Array.isArray(names)) return [{ path: place, text: null, ...names, root }];
  return names.flatMap((name) => {
    const path = `${place}/${name}/${skillFileName}`;
    const content = readMarkdown({ root, rootIs, file: join(root, path), bytesMax: readBytesMax });
    return content === null ? [] : [{ path, ...content, root }];
  });
}

/** Returns the names in a folder with skills, sorted, or why it cannot be used. */
function namesIn({ root, rootIs }: SkillsRoot, place: string): string[] | { fault: string } {
  try {
    // Most repositories have none of these folders, and an error costs ten times as much as the answer.
    if (lstatSync(join(root, place), { throwIfNoEntry: false }) === undefined) return [];
    const real = realpathSync.native(join(root, place));
    if (!isBelow(real, root)) return { fault: `it is a link that leaves the ${rootIs}` };
    const folder = opendirSync(real);
    const names: string[] = [];
    try {
      for (let entry = folder.readSync(); entry !== null; entry = folder.readSync()) {
        if (names.length === limits.skillFolderEntriesMax) break;
        if (entry.isDirectory() || entry.isSymbolicLink()) names.push(entry.name);
      }
    } finally {
      folder.closeSync();
    }
    return names.toSorted();
  } catch (error) {
    if (isAbsence(error)) return [];
    return { fault: `it cannot be read (${systemCode(error) || String(error)})` };
  }
}

/** Bounds what a request carries. What comes later has no text, and the reason. */
function bounded(files: readonly SkillFile[]): SkillFile[] {
  let room: number = limits.skillsBytesMax;
  return files.slice(0, limits.skillsMax * 2).map((file) => {
    const bytes = Buffer.byteLength(file.text ?? "");
    if (bytes > room) return { ...file, text: null, fault: `all skills have more than ${limits.skillsBytesMax} bytes` };
    room -= bytes;
    return file;
  });
}
