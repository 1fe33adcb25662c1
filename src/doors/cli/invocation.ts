/**
 * One invocation of the command line: its input and output, its global options, and what it works on, opened when it is
 * first needed.
 */
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import type { AptoveClient } from "../../client/client.ts";
import type { CloseOptions } from "../../engine/engine.ts";
import { AptoveError } from "../../domain/errors.ts";
import type { SessionTools, SessionToolsRequest } from "../../tools/session-tools.ts";
import {
  mergeLayers,
  readSharedLayers,
  readWorkspaceSettings,
  type Configuration,
  type LoadedConfiguration,
  type SharedLayers,
} from "../../configuration/configuration.ts";
import { dataFolderPath, inspectDataFolder, openDataFolder, type DataFolder } from "../../configuration/data-folder.ts";
import type { WorkspaceProblems } from "../../inspection/workspace-problems.ts";
import type { OpenedWorkspaces } from "../../workspace/opened-workspaces.ts";
import { CommandFailed, UsageError } from "./failure.ts";
import type { LocalWorkingCopy } from "../../working-copy/git.ts";
import type { CliOutput } from "./output.ts";
import type {
  AcpSetup,
  BackupCounts,
  BackupRequest,
  CliIo,
  CliPorts,
  LocalEngine,
  McpCheckRequest,
  McpServerReport,
  MoveCounts,
  MoveRequest,
} from "./ports.ts";

export interface GlobalOptions {
  json?: boolean;
  server?: string;
  key?: string;
}

export interface InvocationParts {
  io: CliIo;
  ports: CliPorts;
  output: CliOutput;
  options: GlobalOptions;
  /** True for a command that may create the data folder. Others leave a mistyped `APTOVE_DATA_DIR` as it is. */
  createsFolder?: boolean;
}

/** The place of `overrides` in messages about the configuration. */
const overridesFrom = "the command line";

export class CliInvocation {
  readonly io: CliIo;
  readonly output: CliOutput;
  readonly json: boolean;
  readonly version: string;
  readonly bin: string;
  readonly #ports: CliPorts;
  readonly #options: GlobalOptions;
  readonly #createsFolder: boolean;
  readonly #overrides: Record<string, unknown> = {};
  #folder: DataFolder | null = null;
  #shared: SharedLayers | null = null;
  #loaded: LoadedConfiguration | null = null;
  #local: Promise<LocalEngine> | null = null;
  #client: Promise<AptoveClient> | null = null;
  #copy: Promise<LocalWorkingCopy> | null = null;
  #ownServerUrl: string | null = null;

  constructor(parts: InvocationParts) {
    this.io = parts.io;
    this.output = parts.output;
    this.json = parts.options.json === true;
    this.version = parts.ports.version;
    this.bin = parts.ports.bin;
    this.#ports = parts.ports;
    this.#options = parts.options;
    this.#createsFolder = parts.createsFolder === true;
  }

  /**
   * Sets values that options gave. They override every other layer (W7). Call it before the configuration is first
   * read.
   */
  override(section: string, values: Record<string, unknown>): void {
    const given = Object.entries(values).filter(([, value]) => value !== undefined);
    if (given.length > 0) this.#overrides[section] = Object.fromEntries(given);
  }

  /** Returns true if there are records to open. Opening them where there are none would create them. */
  async hasRecords(): Promise<boolean> {
    const { url } = this.loaded().configuration.records;
    return url === null ? existsSync(this.folder().records) : (await this.#ports.postgresVersion(url)) > 0;
  }

  /** Reads from the configured bucket, also where there are no records yet. Throws what is wrong with it. */
  async checkBlobs(): Promise<void> {
    await this.#ports.checkBlobs(this.loaded().configuration, this.folder(), this.io.env);
  }

  async checkProvider(name: string): ReturnType<CliPorts["checkProvider"]> {
    return await this.#ports.checkProvider(this.loaded().configuration.providers, name);
  }

  /** Returns what is wrong in single workspaces of this machine (W7). */
  async workspaceProblems(): Promise<WorkspaceProblems> {
    const { workspaceProblems } = await import("../../inspection/workspace-problems.ts");
    return await workspaceProblems({
      env: this.io.env,
      shared: this.loaded().configuration,
      list: async () => await (await this.workspaces()).store.list(),
      configurationOf: async (id) => (await this.loadedFor(id)).configuration,
    });
  }

  /** Returns the data folder. It may be missing if this command does not create it. */
  folder(): DataFolder {
    const open = this.#createsFolder ? openDataFolder : inspectDataFolder;
    return (this.#folder ??= open(dataFolderPath({ env: this.io.env })));
  }

  loaded(): LoadedConfiguration {
    if (this.#loaded === null) {
      this.#loaded = mergeLayers(this.#sharedLayers(), null);
      for (const warning of this.#loaded.warnings) this.output.note(`warning: ${warning}`);
    }
    return this.#loaded;
  }

  /**
   * Returns the configuration of a workspace (W7). Throws `workspace_unknown`, or the fault in the workspace's own
   * file.
   */
  async loadedFor(workspaceId: string): Promise<LoadedConfiguration> {
    const words = await readWorkspaceSettings((await this.workspaces()).store, workspaceId);
    if (words !== null) return mergeLayers(this.#sharedLayers(), words);
    throw new AptoveError("workspace_unknown", `there is no workspace ${JSON.stringify(workspaceId)}`);
  }

  /** Returns the workspaces of this machine's data folder. */
  async workspaces(): Promise<OpenedWorkspaces> {
    return await this.#ports.openWorkspaces(this.folder());
  }

  /** Opens tools that run in this process and work in the given folders. */
  async openSessionTools(configuration: Configuration, request: SessionToolsRequest): Promise<SessionTools> {
    return await this.#ports.openSessionTools({ folder: this.folder(), env: this.io.env, configuration }, request);
  }

  /** Starts MCP servers on this machine to check them, also while a server runs. */
  async checkMcpServers(request: Omit<McpCheckRequest, "env">): Promise<McpServerReport[]> {
    return await this.#ports.checkMcpServers({ ...request, env: this.io.env });
  }

  async redisFault(url: string): Promise<string | null> {
    return await this.#ports.redisFault(url);
  }

  /** Returns the address of the server that an option or the environment names. Null if none is named. */
  server(): string | null {
    return this.#options.server ?? (this.io.env["APTOVE_SERVER"] || null);
  }

  /** Opens the engine in this process, for tasks that only the machine with the data folder can do. */
  local(task: string, { isServer = false } = {}): Promise<LocalEngine> {
    if (this.server() !== null) {
      throw new UsageError(`${task} works on this machine's own data`, "leave out --server (and APTOVE_SERVER)");
    }
    return (this.#local ??= this.#openLocal(!isServer));
  }

  /**
   * Connects to whatever runs the turns: the named server, the running server of this data folder, or else the engine
   * in this process.
   */
  client(): Promise<AptoveClient> {
    return (this.#client ??= this.#connect());
  }

  /**
   * Returns a client of the engine in this process after this folder's server has gone. Null if the client was not
   * connected to that server.
   */
  async withoutServer(): Promise<AptoveClient | null> {
    if (this.#ownServerUrl === null) return null;
    return (await this.local("this")).client;
  }

  /** The address of the running server of this data folder that the client is connected to. Null: of none. */
  get ownServerUrl(): string | null {
    return this.#ownServerUrl;
  }

  async copy(): Promise<LocalWorkingCopy> {
    this.#copy ??= this.#findCopy();
    return await this.#copy;
  }

  async #findCopy(): Promise<LocalWorkingCopy> {
    const { findWorkingCopy } = await import("../../working-copy/git.ts");
    const copy = await findWorkingCopy(this.io.cwd);
    if (copy.refusal !== null) this.output.note(`warning: git is not used here: ${this.output.safeNote(copy.refusal)}`);
    return copy;
  }

  /**
   * Serves an ACP client. The configuration is read with the stores, so a fault in it is the answer to the client's
   * first request.
   */
  async serveAcp(asked: Pick<AcpSetup, "workspaceId" | "beginning" | "mode" | "stop">): Promise<void> {
    if (this.server() !== null) {
      throw new UsageError("acp works on this machine's own data", "leave out --server (and APTOVE_SERVER)");
    }
    // A fault of the configuration is reported to the editor, by the session that it begins.
    if (this.loadedOrNull() !== null) await this.#refuseOtherRecords();
    const { env, stdin, stdout, stderr } = this.io;
    const setup = { dataDir: this.folder().dir, env, overrides: this.#overrides, overridesFrom };
    await this.#ports.serveAcp({ ...setup, ...asked, io: { stdin, stdout, stderr } });
  }

  /** Serves the sessions to an MCP client. */
  async serveMcp(stop: AbortSignal): Promise<void> {
    const { stdin, stdout } = this.io;
    const report = (message: string, error?: unknown): void =>
      this.output.note(error === undefined ? message : `${message}: ${String(error)}`);
    await this.#ports.serveMcp({ client: await this.client(), io: { stdin, stdout }, stop, report });
  }

  async backup(request: BackupRequest): Promise<BackupCounts> {
    await this.#refuseOtherRecords();
    return await this.#ports.backup(this.folder(), request);
  }

  async restore(request: BackupRequest): Promise<BackupCounts> {
    return await this.#ports.restore(this.folder(), request);
  }

  async moveBlobs(request: MoveRequest): Promise<MoveCounts> {
    return await this.#ports.moveBlobs(this.folder(), request);
  }

  async close(options: CloseOptions = {}): Promise<void> {
    if (this.#local === null) return;
    // An engine that failed to open has already reported the failure and leaves nothing to close.
    const local = await this.#local.catch(() => null);
    await local?.close(options);
  }

  #sharedLayers(): SharedLayers {
    const { env } = this.io;
    return (this.#shared ??= readSharedLayers({
      dataDir: this.folder().dir,
      env,
      overrides: this.#overrides,
      overridesFrom,
    }));
  }

  async #openLocal(isCommand: boolean): Promise<LocalEngine> {
    this.#requireFolder();
    await this.#refuseOtherRecords();
    return await this.#ports.openLocal({
      dataDir: this.folder().dir,
      env: this.io.env,
      overrides: this.#overrides,
      overridesFrom,
      isCommand,
      writeLog: (line) => this.output.note(this.output.safeNote(line)),
    });
  }

  async #connect(): Promise<AptoveClient> {
    const url = this.server();
    if (url !== null) return await this.#connectTo(url, this.#options.key ?? this.io.env["APTOVE_KEY"] ?? "");
    const { answerTimeout, askServer, findServers } = await import("./server-file.ts");
    for (const running of await findServers(this.folder())) {
      if (running.configuration !== this.fingerprint()) continue;
      const client = await this.#connectTo(running.url, running.key);
      // The process id may belong to another process, or the server is shutting down or suspended. Then the next one or the
      // engine in this process does the work.
      const health = client.health({ signal: answerTimeout() }).then(isReady, () => false);
      if ((await askServer(running)) !== "accepts" || !(await health)) continue;
      this.#ownServerUrl = running.url;
      return client;
    }
    return (await this.local("this")).client;
  }

  async #connectTo(url: string, key: string): Promise<AptoveClient> {
    if (!/^https?:\/\//.test(url))
      throw new UsageError(`--server ${url} is no address`, "begin it with http:// or https://");
    if (key === "") throw new UsageError(`${url} needs a key`, "give --key, or set APTOVE_KEY");
    const { createClient } = await import("../../client/client.ts");
    return createClient({ url, key });
  }

  /** Returns the configuration. Null if it has a fault, which another call reports. */
  loadedOrNull(): LoadedConfiguration | null {
    try {
      return this.loaded();
    } catch {
      return null;
    }
  }

  /** Describes where the records are, without user and password. */
  recordsLocation(): string {
    const { url } = this.loaded().configuration.records;
    if (url === null) return "SQLite in the data folder";
    const { host, pathname, searchParams } = new URL(url);
    return `PostgreSQL at ${host || (searchParams.get("host") ?? "")}${pathname}`;
  }

  /**
   * Throws `other_records` if the running server keeps its records elsewhere. A shell that lacks the server's
   * APTOVE_RECORDS_URL would create a second set of records, with keys that open nothing. Two addresses of PostgreSQL
   * may name the same database, so for those it only prints a warning.
   */
  async #refuseOtherRecords(): Promise<void> {
    const own = this.recordsLocation();
    const { answeringServer } = await import("./server-file.ts");
    const running = await answeringServer(this.folder(), ({ records }) => records !== own);
    if (running === null) return;
    const message = `the server of this data folder (pid ${running.pid}) has its records in ${running.records}, and this command in ${own}`;
    const fix = "set APTOVE_RECORDS_URL and records.url here as for the server, or APTOVE_DATA_DIR to another folder";
    const isPostgres = (place: string): boolean => place.startsWith("PostgreSQL");
    if (isPostgres(own) !== isPostgres(running.records)) throw new CommandFailed("other_records", message, fix);
    this.output.note(`warning: ${this.output.safeNote(message)}; if these are two databases: ${fix}`);
  }

  /**
   * Throws `data_missing` where the engine would create a data folder for a command that begins nothing, and what
   * `openDataFolder` throws. Records in PostgreSQL can be read without a folder.
   */
  #requireFolder(): void {
    const { dir } = this.folder();
    if (existsSync(dir)) openDataFolder(dir);
    else if (this.loaded().configuration.records.url === null) throw this.#missing(dir);
  }

  #missing(dir: string): CommandFailed {
    const begin = 'begin with: aptove ask "…"';
    const isNamed = (this.io.env["APTOVE_DATA_DIR"] ?? "") !== "";
    const fix = isNamed
      ? `correct APTOVE_DATA_DIR, or ${begin}`
      : `${begin}; or name your data folder: APTOVE_DATA_DIR`;
    return new CommandFailed("data_missing", `there is no data folder ${dir}`, fix);
  }

  /** Returns a digest that is equal in two processes with this data folder if they would do exactly the same. */
  fingerprint(): string {
    // The address that the server listens on, its logs, metrics and traces change nothing about what it does.
    const { serve: _serve, log: _log, metrics: _metrics, traces: _traces, ...rest } = this.loaded().configuration;
    return createHash("sha256").update(JSON.stringify(rest)).digest("hex");
  }
}

function isReady(health: { status: string }): boolean {
  return health.status === "ready";
}
