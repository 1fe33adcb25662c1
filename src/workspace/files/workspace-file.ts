/**
 * `workspace.toml`: the name of a workspace, its times, and its provider (W1). A folder without this file is a workspace
 * too: it has no name, and the times of its folder.
 */
import { statSync } from "node:fs";
import { isoTime } from "../../domain/ids.ts";
import { storageFault } from "../../domain/storage-fault.ts";
import { isAbsence } from "../../system/system-error.ts";
import { timeOf, TomlFile, tomlText, type TomlTable } from "./toml-file.ts";
import type { WorkspacePaths } from "./workspace-paths.ts";

export interface WorkspaceFile {
  id: string;
  name: string | null;
  createdAt: number;
  lastAccessedAt: number;
  provider: string | null;
  /** Keys that this version does not know. */
  rest: TomlTable;
}

const heading = "A workspace. aptove keeps this file up to date.";
const fix = "correct the file, or move it to another folder; then the workspace continues without a name";

/** Reads a workspace. Null if there is no such folder. Throws `workspace_damaged` with the position of the damage, and `data_newer`. */
export async function readWorkspace(paths: WorkspacePaths, id: string): Promise<WorkspaceFile | null> {
  const file = fileOf(paths);
  const table = file.read();
  if (table === null) return withoutFile(file, paths.folder, id);
  const { format: _format, uuid, name, created_at: created, last_accessed: accessed, provider, ...rest } = table;
  if (uuid !== id) throw file.damaged(`uuid must be ${JSON.stringify(id)}, the name of the folder`);
  const text = (key: string, value: unknown): string | null => {
    if (value === undefined || typeof value === "string") return value ?? null;
    throw file.damaged(`${key} must be a text`);
  };
  const time = (key: string, value: unknown): number => {
    const found = timeOf(value);
    if (found !== null) return found;
    throw file.damaged(`${key} must be a time such as ${JSON.stringify(isoTime(0))}`);
  };
  return {
    id,
    name: text("name", name),
    createdAt: time("created_at", created),
    lastAccessedAt: time("last_accessed", accessed),
    provider: text("provider", provider),
    rest,
  };
}

/** Writes the file. The caller holds the workspace's lock. */
export async function writeWorkspace(paths: WorkspacePaths, workspace: WorkspaceFile): Promise<void> {
  await fileOf(paths).write(heading, tableOf(workspace));
}

export function workspaceText(workspace: WorkspaceFile): string {
  return tomlText(heading, tableOf(workspace));
}

function fileOf(paths: WorkspacePaths): TomlFile {
  return new TomlFile(paths.workspace, { code: "workspace_damaged", fix });
}

function tableOf({ id, name, createdAt, lastAccessedAt, provider, rest }: WorkspaceFile): TomlTable {
  return {
    uuid: id,
    ...(name !== null && { name }),
    created_at: isoTime(createdAt),
    last_accessed: isoTime(lastAccessedAt),
    ...(provider !== null && { provider }),
    ...rest,
  };
}

function withoutFile(file: TomlFile, folder: string, id: string): WorkspaceFile | null {
  try {
    const stats = statSync(folder);
    if (!stats.isDirectory()) throw file.damaged(`${folder} is not a folder`);
    const { birthtimeMs, mtimeMs } = stats;
    const times = { createdAt: Math.floor(birthtimeMs), lastAccessedAt: Math.floor(mtimeMs) };
    return { id, name: null, ...times, provider: null, rest: {} };
  } catch (error) {
    if (isAbsence(error)) return null;
    throw storageFault(`${folder} could not be read`, error);
  }
}
