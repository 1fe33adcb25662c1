/**
 * The contract for the tools of one session of a door (P5): files and commands in the session's folders, and the MCP
 * servers of the configuration and of the session. A door asks for them, hands them to its turns, and closes them.
 *
 * - Nothing outside the folders is read or written, whatever a path says: symbolic links are resolved first.
 * - A server that does not start, hangs or lies costs its own tools only; `warnings` says why.
 * - `tools` waits for servers that are still starting, for a bounded time, and gives the same order every time.
 */
import type { Tool } from "./tool.ts";

export type OpenSessionTools = (request: SessionToolsRequest) => Promise<SessionTools>;

export interface SessionToolsRequest {
  /** Absolute paths; the first is where relative paths and commands begin. */
  folders: readonly string[];
  /** Whose configured MCP servers are used, and where their logs are; null: the global ones, without logs. */
  workspaceId: string | null;
  /** Of this session alone; one with the name of a configured one takes its place. */
  mcpServers: readonly McpServer[];
  /** In place of the disk, where the client offers its own files (P4). */
  files?: Partial<FileAccess>;
  /** In place of own processes, where the client offers its terminals (P4). */
  commands?: CommandRunner;
}

export interface SessionTools {
  tools(): Promise<readonly Tool[]>;
  /** One line each: servers that did not start, tools that were left out. */
  warnings(): readonly string[];
  /** Ends every server and command. Idempotent. */
  close(): Promise<void>;
}

/** Reads and writes whole text files by absolute path. Throws as `node:fs` does; a missing file is `ENOENT`. */
export interface FileAccess {
  readText(path: string, signal: AbortSignal): Promise<string>;
  writeText(path: string, content: string, signal: AbortSignal): Promise<void>;
}

export interface CommandRunner {
  /** Runs a command line in a shell. Ends it, with all that it started, when the signal aborts; resolves also then. */
  run(command: CommandRequest): Promise<CommandOutcome>;
}

export interface CommandRequest {
  command: string;
  /** Absolute. */
  cwd: string;
  /** The call of the model that asked for it. */
  callId: string;
  outputBytesMax: number;
  signal: AbortSignal;
  onOutput(text: string): void;
}

export interface CommandOutcome {
  /** Null: it was ended by a signal. */
  exitCode: number | null;
  signal: string | null;
  /** Both streams, in the order in which they came. */
  output: string;
  /** Whether there was more than `outputBytesMax`: then the beginning is missing. */
  isCut: boolean;
}

export type McpServer =
  | { type: "stdio"; name: string; command: string; args: string[]; env: Record<string, string>; timeMs?: number }
  | { type: "http"; name: string; url: string; headers: Record<string, string>; timeMs?: number };
