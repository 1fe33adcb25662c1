/**
 * The contract for the tools of one session (P5): files and commands in the session's folders, and the MCP servers of the
 * configuration and of the session. A door opens the tools, passes them to its turns, and closes them.
 *
 * - Nothing outside the folders is read or written, whatever a path contains: symbolic links are resolved first.
 * - A server that does not start, hangs or sends wrong messages affects only its own tools. `warnings` explains why.
 * - `tools` waits a bounded time for servers that are still starting. It returns the tools in the same order every time.
 */
import type { Tool } from "./tool.ts";

export type OpenSessionTools = (request: SessionToolsRequest) => Promise<SessionTools>;

export interface SessionToolsRequest {
  /** Absolute paths. Relative paths and commands begin in the first one. */
  folders: readonly string[];
  /** The top folders of the session's repositories, by their names. Absent: it is not about several (M7). */
  repositories?: ReadonlyMap<string, string>;
  /** The workspace whose configured MCP servers are used, and which keeps their logs. Null: the global servers are used, without logs. */
  workspaceId: string | null;
  /** MCP servers of this session only. A server with the name of a configured one replaces it. */
  mcpServers: readonly McpServer[];
  /** File access of the client, which replaces the disk if the client offers it (P4). */
  files?: Partial<FileAccess>;
  /** Terminals of the client, which replace local processes if the client offers them (P4). */
  commands?: CommandRunner;
}

/** The open tools of one session. */
export interface SessionTools {
  tools(): Promise<readonly Tool[]>;
  /** Warnings of one line each: servers that did not start, and tools that were left out. */
  warnings(): readonly string[];
  /** Ends every server and command. A second call has no effect. */
  close(): Promise<void>;
}

/** Reads and writes whole text files by absolute path. Both methods throw as `node:fs` does; a missing file is `ENOENT`. */
export interface FileAccess {
  readText(path: string, signal: AbortSignal): Promise<string>;
  writeText(path: string, content: string, signal: AbortSignal): Promise<void>;
}

export interface CommandRunner {
  /** Runs a command line in a shell. If the signal aborts, ends the command and all processes that it started; then it resolves too. */
  run(command: ShellCommandRequest): Promise<ShellCommandResult>;
}

export interface ShellCommandRequest {
  command: string;
  /** The absolute path of the working folder. */
  cwd: string;
  /** The id of the model's call that requested the command. */
  callId: string;
  /** The most bytes of output that are kept. */
  outputBytesMax: number;
  signal: AbortSignal;
  onOutput(text: string): void;
}

export interface ShellCommandResult {
  /** The exit code. Null if a signal ended the command. */
  exitCode: number | null;
  signal: string | null;
  /** Standard output and standard error, in the order of arrival. */
  output: string;
  /** True if there was more output than `outputBytesMax`. Then the beginning is missing. */
  isCut: boolean;
}

export type McpServer =
  | { type: "stdio"; name: string; command: string; args: string[]; env: Record<string, string>; timeMs?: number }
  /** `sse` is the older transport over HTTP, with one stream for all messages. Newer servers have `http`. */
  | { type: "http" | "sse"; name: string; url: string; headers: Record<string, string>; timeMs?: number };
