/** Reads skills on this machine (M4). What it needs is loaded when there is something to read. */
import { existsSync } from "node:fs";
import type { DataFolder } from "../../configuration/data-folder.ts";
import type { SkillFolders } from "../../tools/skill-folders.ts";
import { isWorkspaceContent, workspacePaths } from "../../workspace/files/workspace-paths.ts";
import { isWorkspaceId } from "../../workspace/workspace-store.ts";

export function skillReader(folder: DataFolder): SkillFolders {
  const opened = async (): Promise<SkillFolders> => {
    const { openSkillFolders } = await import("../../tools/files/skill-folders.ts");
    return openSkillFolders({ ofWorkspace, closed: [{ folder: folder.dir, opens: isWorkspaceContent }] });
  };
  const ofWorkspace: SkillFolders["ofWorkspace"] = async (id) => {
    const paths = isWorkspaceId(id) ? workspacePaths(folder, id) : null;
    if (paths === null || !existsSync(paths.skills)) return [];
    const { findWorkspaceSkills } = await import("../../working-copy/skills.ts");
    return findWorkspaceSkills(paths.folder);
  };
  return {
    ofWorkspace,
    list: async (skill) => await (await opened()).list(skill),
    read: async (skill, file) => await (await opened()).read(skill, file),
  };
}
