/**
 * What the command line needs from outside: the terminal that it runs in, and ways to open an engine. Everything is
 * opened when it is first needed, because each command pays for what it loads.
 */
import type { Readable, Writable } from "node:stream";
import type { AptoveClient } from "../../client/client.ts";
import type { Session } from "../../domain/session.ts";
import type { AttachmentPlace, CloseOptions, DetachedSession, Engine, Indexes, Operator } from "../../engine/engine.ts";
import type { McpServer, SessionTools, SessionToolsRequest } from "../../tools/session-tools.ts";
import type { Configuration } from "../../configuration/configuration.ts";
import type { DataFolder } from "../../configuration/data-folder.ts";
import type { ProviderAnswer } from "../../inspection/checks.ts";
import type { OpenedWorkspaces } from "../../workspace/opened-workspaces.ts";

/** The input, output and environment of one invocation. Tests pass their own. */
export interface CliIo {
  /** Standard input. A terminal sends single keys after `setRawMode(true)`. */
  stdin: Readable & { isTTY?: boolean; setRawMode?(isRaw: boolean): unknown };
  /** Standard output. A terminal emits `resize`. */
  stdout: Writable & { isTTY?: boolean; columns?: number; rows?: number };
  stderr: Writable & { isTTY?: boolean; columns?: number };
  env: Readonly<Record<string, string | undefined>>;
  cwd: string;
  /** The source of signals: `process`, outside of tests. */
  signals: SignalSource;
  /**
   * The kind of standard input. `file`: a pipe or a file of the shell, read to its end. `socket`: the pipe of another
   * program, which may never write to it. `none`: a terminal, or nothing.
   */
  inputKind(): "file" | "socket" | "none";
  /**
   * Stops this process as Ctrl-Z does, and calls `onContinue` when it continues. Absent if the system cannot do that.
   */
  suspend?(onContinue: () => void): void;
}

export type StopSignal = "SIGINT" | "SIGTERM" | "SIGHUP";

export interface SignalSource {
  on(signal: StopSignal, listener: () => void): unknown;
  off(signal: StopSignal, listener: () => void): unknown;
}

export interface McpServeSetup {
  client: AptoveClient;
  io: Pick<CliIo, "stdin" | "stdout">;
  stop: AbortSignal;
  /** Reports a fault of the connection. */
  report: (message: string, error?: unknown) => void;
}

export interface CliPorts {
  version: string;
  /** The absolute path of the command, for texts that name it. */
  bin: string;
  /**
   * Builds the engine of a data folder in this process, and a client that calls it without a socket, as the owner of
   * the folder.
   */
  openLocal(setup: LocalSetup): Promise<LocalEngine>;
  /** Serves one ACP client on the streams of `io`. Resolves when the client has gone and everything is closed. */
  serveAcp(setup: AcpSetup): Promise<void>;
  /** Serves sessions to one MCP client on the streams of `io`. Resolves when the client has gone, or after `stop`. */
  serveMcp(setup: McpServeSetup): Promise<void>;
  /** Opens the workspaces of a data folder of this machine, without its database. */
  openWorkspaces(folder: DataFolder): Promise<OpenedWorkspaces>;
  /** Opens tools that run in this process, whichever engine runs the turns. */
  openSessionTools(setup: SessionToolsSetup, request: SessionToolsRequest): Promise<SessionTools>;
  /** Copies a data folder whose records are in SQLite, also while it is in use. Throws `backup_refused`. */
  backup(folder: DataFolder, request: BackupRequest): Promise<BackupCounts>;
  /** Restores a backup into a data folder without records. Throws `backup_invalid` and `backup_refused`. */
  restore(folder: DataFolder, request: BackupRequest): Promise<BackupCounts>;
  /** Moves the blobs of a data folder. Throws `move_refused` and `data_in_use`. */
  moveBlobs(folder: DataFolder, request: MoveRequest): Promise<MoveCounts>;
  /**
   * Starts MCP servers, waits until each one is ready or has failed, and stops them again. Rejects when `stop` aborts.
   */
  checkMcpServers(request: McpCheckRequest): Promise<McpServerReport[]>;
  /** Asks a provider of the configuration for its models. Null for one without an address, such as the offline model. */
  checkProvider(providers: Configuration["providers"], name: string): Promise<ProviderAnswer | null>;
  /** Returns the version of the data in a PostgreSQL database, and changes nothing. 0: there is no data yet. */
  postgresVersion(url: string): Promise<number>;
  /** Reads from a configured bucket. Throws what is wrong with it. */
  checkBlobs(configuration: Configuration, folder: DataFolder, env: CliIo["env"]): Promise<void>;
  /** Returns null if a Redis server answers at the address and accepts its user and password, else what is wrong. */
  redisFault(url: string): Promise<string | null>;
}

export interface BackupRequest {
  /** The absolute path of the backup's folder. */
  copy: string;
  onBlob: (done: number, total: number) => void;
}

export interface BackupCounts {
  folder: string;
  turns: number;
  blobs: number;
  /** The size of all files of the copy in bytes. */
  bytes: number;
  /** What is missing or cannot be read: a blob or a file, and words that follow its name. */
  damaged: { name: string; why: string }[];
}

export interface MoveRequest {
  to: "database" | "files";
  onBlob: (what: "copying" | "checking", done: number, total: number) => void;
}

export interface MoveCounts {
  /** The place of the blobs after the move. */
  place: "database" | "files";
  /** False: they were there already. */
  moved: boolean;
  turns: number;
  blobs: number;
  /** The size of the moved blobs in bytes. */
  bytes: number;
}

export interface McpCheckRequest {
  servers: readonly McpServer[];
  /** Absolute paths. The servers are started in the first one. */
  folders: readonly string[];
  /** The folder for the logs of the servers. Null: they are not kept. */
  logs: { folder: DataFolder; workspaceId: string } | null;
  env: CliIo["env"];
  stop: AbortSignal;
}

export interface McpServerReport {
  name: string;
  /** The name and version that the server reports. Null if it did not start. */
  version: string | null;
  /** The version of MCP that the server speaks. */
  protocol: string | null;
  tools: string[];
  /** Why the server is not ready, as words that follow its name, like those in `faults`. Null if it is ready. */
  failure: string | null;
  /** Why tools were left out. */
  faults: readonly string[];
  startedInMs: number | null;
}

export interface SessionToolsSetup {
  folder: DataFolder;
  env: CliIo["env"];
  /** The configuration of the workspace whose MCP servers are used. */
  configuration: Configuration;
}

/** The fields of the library's own `open` (Y1). */
export interface LocalSetup {
  dataDir: string;
  env: CliIo["env"];
  /** Values of options, in the form of `config.toml` (W7). */
  overrides: Record<string, unknown>;
  /** The source of these values, as messages name it. */
  overridesFrom: string;
  /** True for a command at a terminal, false for a server. The log of a command has warnings only, as text. */
  isCommand?: boolean;
  /** Takes a line for the operator. Without it, the line goes to standard error. */
  writeLog?: (line: string) => void;
}

export interface AcpSetup extends LocalSetup {
  io: Pick<CliIo, "stdin" | "stdout" | "stderr">;
  /** The workspace of a client that names no device. Null means `default`. */
  workspaceId: string | null;
  /** How a new session begins if the client does not choose. Null leaves it to the ACP door (W3). */
  beginning: "fresh" | "continue" | null;
  /** The mode of new sessions. Null means `edit`. */
  mode: string | null;
  /** Aborts when the process receives a stop signal. */
  stop: AbortSignal;
}

export interface LocalEngine {
  client: AptoveClient;
  operator: LocalOperator;
  indexes: LocalIndexes;
  attachments: LocalAttachments;
  recordsAbout: Engine["recordsAbout"];
  /** Reads every stored turn and checks it, as the owner of the data folder. */
  verifyAll(onTurn: (checked: number) => void): Promise<{ turns: number; faults: TurnFault[] }>;
  /** Reports a message to the operator, in the form of the log. */
  report(message: string, error?: unknown): void;
  /**
   * Starts the HTTP server. Resolves when it listens. `key` acts as the owner of the data, and ends with this process. Rejects with `address_unavailable`; its cause is the error of the
   * system, and its fact `listener` is `metrics` if it is about their address.
   */
  listen(at: { host: string; port: number }): Promise<ListeningAddress & { key: string }>;
  /** Lets running turns finish within the configured grace time, then interrupts the rest (R4). */
  close(options?: CloseOptions): Promise<void>;
}

/** A turn that cannot be read completely, or was changed. */
export interface TurnFault {
  turnId: string;
  /** Null: not even the row of the turn can be read. The reason names the session. */
  sessionId: string | null;
  reason: string;
}

/** The operator of this machine's data: creates orgs, and may do in every org what its admins may (H4). */
export interface LocalOperator extends Omit<Operator, "callerFor"> {
  /** Opens a client that acts as the operator in an org. Throws `not_found`. */
  clientFor(orgId: string): Promise<AptoveClient>;
}

/** The engine's indexes, as the owner of the data folder. */
export interface LocalIndexes {
  /**
   * Indexes a repository. `orgId` is the org that the index is for, which the owner of the data folder may choose
   * freely. Without it: the folder's own org.
   */
  index(job: Parameters<Indexes["index"]>[1] & { orgId?: string }): Promise<LocalIndexSummary>;
  list(orgId?: string): Promise<LocalIndexInfo[]>;
}

/** The engine's attachments, as the owner of the data folder. */
export interface LocalAttachments {
  find(place: AttachmentPlace): Promise<DetachedSession[]>;
  attach(sessionId: string, place: AttachmentPlace): Promise<Session>;
}

export type LocalIndexSummary = Awaited<ReturnType<Indexes["index"]>>;
export type LocalIndexInfo = Awaited<ReturnType<Indexes["list"]>>[number];

export interface ListeningAddress {
  /** The address with the port that was taken, for example `http://127.0.0.1:4270`. */
  url: string;
}
