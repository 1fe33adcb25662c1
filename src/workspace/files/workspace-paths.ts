/**
 * The paths of a workspace's files (W1). Only this file turns an id into a path, after checking that it is an id.
 *
 * The lock files are outside of the workspace's folder, so that they outlive its deletion. A caller that takes several
 * locks takes them in this order: the workspace's, the transcript's, the bindings'.
 */
import { join } from "node:path";
import { checkWorkspaceId, isWorkspaceId } from "../workspace-store.ts";

/** The folders and files of the data folder that workspaces use; all paths are absolute. */
export interface WorkspaceFolders {
  /** One folder for each workspace, by its id (W1). */
  workspaces: string;
  /** The file with the workspace of each device (W2). */
  bindings: string;
  /** The folder of the lock files, which have no content (B4). */
  locks: string;
}

export interface WorkspacePaths {
  folder: string;
  /** The file with its name, times and provider. */
  workspace: string;
  /** Its own layer of the configuration, which a person writes (W7). */
  config: string;
  permissions: string;
  /** The transcript of its current session (W4). */
  session: string;
  /** Logs of MCP servers (P5). */
  mcp: string;
  skills: string;
  memory: string;
  /** The lock for all files that aptove writes here, except the transcripts. */
  lock: string;
  transcriptLock: string;
}

/** Returns the paths of a workspace. Throws `workspace_invalid` for an invalid id. Reads and writes no file. */
export function workspacePaths(data: Pick<WorkspaceFolders, "workspaces" | "locks">, id: string): WorkspacePaths {
  checkWorkspaceId(id);
  const folder = join(data.workspaces, id);
  return {
    folder,
    workspace: join(folder, "workspace.toml"),
    config: join(folder, "config.toml"),
    permissions: join(folder, "permissions.toml"),
    session: join(folder, "session.md"),
    mcp: join(folder, "mcp"),
    skills: join(folder, "skills"),
    memory: join(folder, "memory"),
    lock: join(data.locks, `workspace-${id}.lock`),
    transcriptLock: join(data.locks, `transcript-${id}.lock`),
  };
}

const protectedNames: readonly string[] = ["config.toml", "workspace.toml", "permissions.toml", "mcp"];

/**
 * Returns true if a session that works in the folder of a workspace may use this path of the data folder. The files that
 * configure aptove itself are closed there too: with them, a tool that may write one file could name programs to start,
 * or give itself more permissions.
 */
export function isWorkspaceContent(path: string): boolean {
  const [top, id = "", name = ""] = path.split("/");
  return top === "workspaces" && isWorkspaceId(id) && !protectedNames.includes(name.toLowerCase());
}

export function bindingsLock(data: Pick<WorkspaceFolders, "locks">): string {
  return join(data.locks, "bindings.lock");
}
