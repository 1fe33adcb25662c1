/** `permissions.toml`: the permanent permissions of the tools in a workspace, by key, each with the time when a person gave it (P4). */
import { isoTime } from "../../domain/ids.ts";
import { isTable } from "../../system/guards.ts";
import { timeOf, TomlFile, type TomlTable } from "./toml-file.ts";
import type { WorkspacePaths } from "./workspace-paths.ts";

const heading = "The permanent permissions of this workspace. Delete a line to be asked again.";
const fix = "correct the file, or move it to another folder; then you are asked again";

export interface PermissionsContent {
  permissions: Map<string, number>;
  /** Keys that this version does not know. */
  rest: TomlTable;
}

export function permissionsFile(paths: WorkspacePaths): TomlFile {
  return new TomlFile(paths.permissions, { code: "workspace_damaged", fix });
}

/** Reads the permissions. A missing file allows nothing. A damaged file allows nothing either, and the call throws. */
export async function readPermissions(file: TomlFile): Promise<PermissionsContent> {
  const { format: _format, allowed = {}, ...rest } = file.read() ?? {};
  if (!isTable(allowed)) throw file.damaged("allowed must be a table");
  const permissions = new Map<string, number>();
  for (const [key, value] of Object.entries(allowed)) {
    const at = timeOf(value);
    if (at === null) throw file.damaged(`allowed.${JSON.stringify(key)} must be the time when it was allowed`);
    permissions.set(key, at);
  }
  return { permissions, rest };
}

/** Writes the permissions. The caller holds the workspace's lock. */
export async function writePermissions(file: TomlFile, { permissions, rest }: PermissionsContent): Promise<void> {
  const allowed = Object.fromEntries([...permissions].map(([key, at]) => [key, isoTime(at)]));
  await file.write(heading, { ...rest, allowed });
}
