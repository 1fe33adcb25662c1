/**
 * The contract for reading skills on the engine's machine (M4). Nothing of them is ever run.
 *
 * - Only regular text files inside the skill's own folder are read, whatever links and paths say. Its folder is inside `root`.
 * - `list` leaves out what it cannot read. `read` throws a ToolFault, which the model receives.
 */
import type { SkillFile } from "../domain/skill.ts";

export interface SkillFolders {
  /** Returns the skills of a workspace. Empty if there are none, or no such workspace. Never rejects. */
  ofWorkspace(workspaceId: string): Promise<readonly SkillFile[]>;
  /** Returns the paths of the skill's other files, relative to its folder, sorted and bounded. */
  list(skill: SkillPlace): Promise<string[]>;
  /** Reads a file by its path relative to the skill's folder. */
  read(skill: SkillPlace, file: string): Promise<{ text: string; path: string }>;
}

/** The place of a skill on the disk. */
export interface SkillPlace {
  /** An absolute path. */
  root: string;
  /** The path of its `SKILL.md`, relative to `root`. */
  path: string;
}
