/** Reads the other files of skills on this machine (M4). */
import { readdir, realpath } from "node:fs/promises";
import { dirname, join, posix, resolve } from "node:path";
import { limits } from "../../domain/limits.ts";
import { skillFileName } from "../../domain/skill.ts";
import {
  isInside,
  SessionFolders,
  type ClosedFolder,
  type ExistingPath,
  type SessionPath,
} from "../session-folders.ts";
import { shownPath } from "../shown-text.ts";
import type { SkillFolders, SkillPlace } from "../skill-folders.ts";
import { ToolFault } from "../tool-fault.ts";
import { TextFiles } from "./text-files.ts";

export interface SkillFoldersOptions extends Pick<SkillFolders, "ofWorkspace"> {
  /** The folders that no skill may open. */
  closed: readonly ClosedFolder[];
}

export function openSkillFolders({ ofWorkspace, closed }: SkillFoldersOptions): SkillFolders {
  const texts = new TextFiles();
  return {
    ofWorkspace,
    list: async (skill) => {
      const folder = await folderOf(skill, closed).catch(() => null);
      return folder === null ? [] : await namesBelow(folder.real);
    },
    read: async (skill, file) => {
      const { real } = await folderOf(skill, closed);
      const target = await fileIn(real, file, closed);
      const { text } = await texts.read(target, AbortSignal.timeout(limits.toolTimeMs));
      return { text, path: posix.join(posix.dirname(skill.path), target.shown) };
    },
  };
}

/** Returns the skill's folder, which is inside its root. Throws a ToolFault. */
async function folderOf({ root, path }: SkillPlace, closed: readonly ClosedFolder[]): Promise<SessionPath> {
  const target = await new SessionFolders({ folders: [root], closed }).resolveExisting(dirname(path));
  if (target.kind !== "folder" || target.real === target.folder) throw new ToolFault(`${target.shown} is no skill`);
  return target;
}

/** Resolves a file of a skill. What a fault says has no path of this machine above the skill's folder. */
async function fileIn(folder: string, file: string, closed: readonly ClosedFolder[]): Promise<ExistingPath> {
  const asked = resolve(folder, file);
  const real = await realpath(asked).catch(() => asked);
  if (!isInside(asked, folder) || !isInside(real, folder)) {
    throw new ToolFault(`${shownPath(file)} is not in the skill's folder`);
  }
  const target = await new SessionFolders({ folders: [folder], closed }).resolveExisting(file);
  if (target.kind === "folder") throw new ToolFault(`${target.shown} is a folder`);
  return target;
}

/** Returns the regular files below a folder, without links and hidden ones. */
async function namesBelow(folder: string): Promise<string[]> {
  const found: string[] = [];
  let room: number = limits.skillFolderEntriesMax;
  const walk = async (below: string, depth: number): Promise<void> => {
    const entries = await readdir(join(folder, below), { withFileTypes: true }).catch(() => []);
    for (const entry of entries.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
      if (--room < 0 || found.length >= limits.skillFilesNamedMax) return;
      if (entry.name.startsWith(".") || entry.name === "node_modules") continue;
      const path = posix.join(below, entry.name);
      if (entry.isFile() && path !== skillFileName) found.push(path);
      if (entry.isDirectory() && depth < limits.skillFoldersDeepMax) await walk(path, depth + 1);
    }
  };
  await walk("", 1);
  return found;
}
