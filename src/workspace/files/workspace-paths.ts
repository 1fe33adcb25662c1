/**
 * Where the files of a workspace lie (W1). Only here an id becomes a path, and what is not an id never does.
 *
 * The locks stand outside of the folder, so that they outlive its deletion. Who takes several takes them in this order:
 * the workspace's, the transcript's, the bindings'.
 */
import { join } from "node:path";
import { checkWorkspaceId, isWorkspaceId } from "../workspace-store.ts";

/** The folders and files of the data folder that workspaces use; all paths are absolute. */
export interface WorkspaceFolders {
  /** One folder for each workspace, by its id (W1). */
  workspaces: string;
  /** The file that says which workspace each device has (W2). */
  bindings: string;
  /** Lock files, which say nothing themselves (B4). */
  locks: string;
}

export interface WorkspacePaths {
  folder: string;
  /** Name, times, provider. */
  workspace: string;
  /** Its own layer of the configuration; a person's file (W7). */
  config: string;
  permissions: string;
  /** The transcript of its current session (W4). */
  session: string;
  /** Logs of MCP servers (P5). */
  mcp: string;
  skills: string;
  memory: string;
  /** Of all that aptove writes here but the transcripts. */
  lock: string;
  transcriptLock: string;
}

/** Throws `workspace_invalid` for what is not the id of a workspace. Touches nothing. */
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

const ruling: readonly string[] = ["config.toml", "workspace.toml", "permissions.toml", "mcp"];

/**
 * Whether a session that works in the folder of a workspace may touch a path of the data folder. What rules aptove itself
 * is closed also there: with it, whoever may write one file could name programs to start, or allow itself the rest.
 */
export function isWorkspaceContent(path: string): boolean {
  const [top, id = "", name = ""] = path.split("/");
  return top === "workspaces" && isWorkspaceId(id) && !ruling.includes(name.toLowerCase());
}

export function bindingsLock(data: Pick<WorkspaceFolders, "locks">): string {
  return join(data.locks, "bindings.lock");
}
