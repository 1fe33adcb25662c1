/**
 * What the command line needs from outside: the terminal it runs in, and ways to an engine. Everything is
 * reached lazily, because each command pays for what it loads.
 */
import type { Readable, Writable } from "node:stream";
import type { AptoveClient } from "../../client/client.ts";
import type { Engine, Indexes, Operator } from "../../engine/engine.ts";
import type { McpServer, SessionTools, SessionToolsRequest } from "../../tools/session-tools.ts";
import type { Configuration } from "../../configuration/configuration.ts";
import type { DataFolder } from "../../configuration/data-folder.ts";
import type { OpenedWorkspaces } from "../../workspace/opened-workspaces.ts";

/** The surroundings of one call; tests bring their own. */
export interface CliIo {
  /** A terminal gives its keys one by one once `setRawMode` is on. */
  stdin: Readable & { isTTY?: boolean; setRawMode?(isRaw: boolean): unknown };
  /** A terminal emits `resize`. */
  stdout: Writable & { isTTY?: boolean; columns?: number; rows?: number };
  stderr: Writable & { isTTY?: boolean; columns?: number };
  env: Readonly<Record<string, string | undefined>>;
  cwd: string;
  /** Where signals come from; `process` itself. */
  signals: SignalSource;
  /**
   * What stands behind standard input. `file`: a pipe or a file of the shell, read to its end. `socket`: the
   * pipe of a program, which may never be written to. `none`: a terminal, or nothing.
   */
  inputKind(): "file" | "socket" | "none";
  /** Stops this process as Ctrl-Z does, and calls back when it goes on. Absent: this system has no such thing. */
  suspend?(onContinue: () => void): void;
}

export type StopSignal = "SIGINT" | "SIGTERM" | "SIGHUP";

export interface SignalSource {
  on(signal: StopSignal, listener: () => void): unknown;
  off(signal: StopSignal, listener: () => void): unknown;
}

export interface CliPorts {
  version: string;
  /** Absolute path of the command, for texts that name it. */
  bin: string;
  /** Builds the engine of a data folder in this process, and a client that speaks to it without a socket, as the folder's owner. */
  openLocal(setup: LocalSetup): Promise<LocalEngine>;
  /** Serves one ACP client on the streams of `io`; resolves when it is gone and everything is closed. */
  serveAcp(setup: AcpSetup): Promise<void>;
  /** Those of a data folder of this machine, without its database. */
  openWorkspaces(folder: DataFolder): Promise<OpenedWorkspaces>;
  /** Tools that run in this process, beside whatever engine runs the turns. */
  openSessionTools(setup: SessionToolsSetup, request: SessionToolsRequest): Promise<SessionTools>;
  /** A whole copy of a data folder whose records are SQLite, while it is used. Throws `backup_invalid`. */
  backup(folder: DataFolder, request: BackupRequest): Promise<BackupCounts>;
  /** Into a data folder without records. Throws `backup_invalid`. */
  restore(folder: DataFolder, request: BackupRequest): Promise<BackupCounts>;
  /** Starts MCP servers, waits until each is ready or has failed, and ends them again. Rejects when `stop` aborts. */
  checkMcpServers(request: McpCheckRequest): Promise<McpServerReport[]>;
  /** Null: a Redis server answers at the address, and takes its name and password; else what is wrong. */
  redisFault(url: string): Promise<string | null>;
}

export interface BackupRequest {
  /** Absolute: where the copy is, or is to be. */
  copy: string;
  onBlob: (done: number, total: number) => void;
}

export interface BackupCounts {
  folder: string;
  turns: number;
  blobs: number;
  /** Of the blobs. */
  bytes: number;
}

export interface McpCheckRequest {
  servers: readonly McpServer[];
  /** Absolute; the first is where they are started. */
  folders: readonly string[];
  /** Where their logs are kept; null: nowhere. */
  logs: { folder: DataFolder; workspaceId: string } | null;
  env: CliIo["env"];
  stop: AbortSignal;
}

export interface McpServerReport {
  name: string;
  /** Name and version, as the server gives them; null: it did not start. */
  version: string | null;
  /** Version of MCP. */
  protocol: string | null;
  tools: string[];
  /** Null: it is ready. In words that go on after its name, as those of `faults` do. */
  failure: string | null;
  /** Tools that were left out. */
  faults: readonly string[];
  startedInMs: number | null;
}

export interface SessionToolsSetup {
  folder: DataFolder;
  env: CliIo["env"];
  /** Whose MCP servers are used: what counts in the workspace. */
  configuration: Configuration;
}

/** The fields of the library's own entry (Y1). */
export interface LocalSetup {
  dataDir: string;
  env: CliIo["env"];
  /** Values of options, in the form of `config.toml` (W7). */
  overrides: Record<string, unknown>;
  /** Whether it is a command at somebody's terminal, rather than a server: the log then has warnings only, as text. */
  isCommand?: boolean;
  /** Takes a line for the operator; absent: it goes to standard error. */
  writeLog?: (line: string) => void;
}

export interface AcpSetup extends LocalSetup {
  io: Pick<CliIo, "stdin" | "stdout" | "stderr">;
  /** The workspace of whoever names no device; null: `default`. */
  workspaceId: string | null;
  /** How a new session begins where the client does not say; null: as the door sees fit (W3). */
  beginning: "fresh" | "continue" | null;
  /** Mode of new sessions; null: `edit`. */
  mode: string | null;
  /** Aborts when the process is told to stop. */
  stop: AbortSignal;
}

export interface LocalEngine {
  client: AptoveClient;
  operator: LocalOperator;
  indexes: LocalIndexes;
  recordsAbout: Engine["recordsAbout"];
  /** Tells the operator, in the form that the log has. */
  report(message: string): void;
  /** Starts the HTTP door; resolves when it listens. Rejects with `address_unavailable`, whose cause is the system's error. */
  listen(at: { host: string; port: number }): Promise<ListeningAddress>;
  /** Lets running turns finish within the configured grace time, then interrupts the rest (R4). */
  close(): Promise<void>;
}

/** Whoever has the data makes orgs, and does what the admins of any of them may with its people (H4). */
export interface LocalOperator extends Omit<Operator, "callerFor"> {
  /** Throws `not_found`. */
  clientFor(orgId: string): Promise<AptoveClient>;
}

/** The engine's, as the data folder's owner. */
export interface LocalIndexes {
  /** Whoever has the data folder and its configuration may index for any org; absent: for the folder's own. */
  index(job: Parameters<Indexes["index"]>[1] & { orgId?: string }): Promise<LocalIndexSummary>;
  list(orgId?: string): Promise<LocalIndexInfo[]>;
}

export type LocalIndexSummary = Awaited<ReturnType<Indexes["index"]>>;
export type LocalIndexInfo = Awaited<ReturnType<Indexes["list"]>>[number];

export interface ListeningAddress {
  /** Address with the port that was really taken, for example `http://127.0.0.1:4270`. */
  url: string;
}
