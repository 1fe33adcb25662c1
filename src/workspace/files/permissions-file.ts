/** `permissions.toml`: what the tools may do for ever in a workspace, by key, with when somebody allowed it (P4). */
import { isoTime } from "../../domain/ids.ts";
import { isTable } from "../../system/guards.ts";
import { timeOf, TomlFile, type TomlTable } from "./toml-file.ts";
import type { WorkspacePaths } from "./workspace-paths.ts";

const heading = "What was allowed for ever in this workspace; take a line away to be asked again.";
const mend = "correct it, or move it away: then you are asked again";

export interface PermissionsContent {
  permissions: Map<string, number>;
  /** Keys that this version does not know. */
  rest: TomlTable;
}

export function permissionsFile(paths: WorkspacePaths): TomlFile {
  return new TomlFile(paths.permissions, { code: "workspace_damaged", mend });
}

/** A file that is not there allows nothing; one that is damaged allows nothing either, and says so. */
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

/** Under the workspace's lock. */
export async function writePermissions(file: TomlFile, { permissions, rest }: PermissionsContent): Promise<void> {
  const allowed = Object.fromEntries([...permissions].map(([key, at]) => [key, isoTime(at)]));
  await file.write(heading, { ...rest, allowed });
}
