/** Finds the histories of another tool on this machine. A link is not followed, unless a person named it. */
import { type Dirent, existsSync, lstatSync, readdirSync, readFileSync, realpathSync, statSync } from "node:fs";
import { basename, join } from "node:path";
import type { ForeignTool } from "../domain/foreign.ts";

/** The folder in which a tool keeps its histories. */
export function historyHome(
  tool: ForeignTool,
  { home, env }: { home: string; env: Readonly<Record<string, string | undefined>> },
): string {
  switch (tool) {
    case "claude-code":
      return join(env["CLAUDE_CONFIG_DIR"] || join(home, ".claude"), "projects");
    case "codex":
      return join(env["CODEX_HOME"] || join(home, ".codex"), "sessions");
    case "gemini":
      return join(env["GEMINI_CLI_HOME"] || home, ".gemini", "tmp");
  }
}

export interface FoundHistories {
  /** The files of conversations, the oldest first. */
  files: string[];
  /** The links that were not followed. */
  links: string[];
}

/** The folders that hold the subagents of a conversation. */
const subagentFolder = /[\\/](?:subagents|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})$/;

/** Returns the histories at a path: the file itself, or all in the folder. Null: there is nothing at the path. */
export function findHistories(tool: ForeignTool, path: string): FoundHistories | null {
  if (!existsSync(path)) return null;
  const real = realpathSync(path);
  const found: FoundHistories = { files: [], links: [] };
  const stat = statSync(real);
  if (stat.isFile()) found.files.push(real);
  else if (stat.isDirectory()) search(tool, real, found);
  else return null;
  const times = new Map(found.files.map((file) => [file, statSync(file).mtimeMs]));
  found.files.sort((a, b) => (times.get(a) ?? 0) - (times.get(b) ?? 0));
  return found;
}

function search(tool: ForeignTool, folder: string, found: FoundHistories): void {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isSymbolicLink()) found.links.push(path);
    else if (entry.isDirectory() && !subagentFolder.test(path)) search(tool, path, found);
    else if (entry.isDirectory() && tool === "claude-code" && !path.endsWith("subagents")) continue;
    else if (isHistory(tool, entry)) found.files.push(path);
  }
}

function isHistory(tool: ForeignTool, entry: Dirent): boolean {
  if (!entry.isFile()) return false;
  switch (tool) {
    case "claude-code":
      return entry.name.endsWith(".jsonl");
    case "codex":
      return /^rollout-.*\.jsonl(?:\.zst)?$/.test(entry.name);
    case "gemini":
      return /^session-.*\.jsonl?$/.test(entry.name);
  }
}

/** Returns the file of a subagent of a conversation. Null: it is not there. */
export function subagentFile(
  tool: ForeignTool,
  { path, sessionId, agentId }: { path: string; sessionId: string; agentId: string },
): string | null {
  if (!/^[\w-]{1,100}$/.test(agentId) || !/^[\w-]{1,100}$/.test(sessionId)) return null;
  const folder = join(path, "..");
  if (tool === "codex") return rollout(folder, agentId);
  const file =
    tool === "claude-code"
      ? join(folder, basename(path, ".jsonl"), "subagents", `agent-${agentId}.jsonl`)
      : join(folder, sessionId, `${agentId}.jsonl`);
  return existsSync(file) && lstatSync(file).isFile() ? file : null;
}

/** Returns the file of a conversation of Codex. Below the folder of its year: a subagent may begin on a later day. */
function rollout(folder: string, agentId: string): string | null {
  const places = [folder, ...(/[\\/]\d{4}[\\/]\d\d[\\/]\d\d$/.test(folder) ? [join(folder, "..", "..")] : [])];
  for (const place of places) {
    const found = readdirSync(place, { recursive: place !== folder, withFileTypes: true }).find(
      (entry) => entry.isFile() && entry.name.replace(/\.zst$/, "").endsWith(`-${agentId}.jsonl`),
    );
    if (found !== undefined) return join(found.parentPath, found.name);
  }
  return null;
}

const pathBytesMax = 4_096;

/** Returns the folder that a history of Gemini CLI is about, which a file above it names. Null: there is no such file. */
export function projectFolder(path: string): string | null {
  const file = join(path, "..", "..", ".project_root");
  const stat = lstatSync(file, { throwIfNoEntry: false });
  if (stat?.isFile() !== true || stat.size > pathBytesMax) return null;
  return readFileSync(file, "utf8").trim() || null;
}
