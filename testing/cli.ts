/**
 * The command line for tests: a real engine on its own data folder, a working copy with a commit, and a
 * terminal that records its output.
 */
import { execFileSync } from "node:child_process";
import { EventEmitter } from "node:events";
import { mkdirSync, readdirSync, readFileSync, utimesSync, writeFileSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { PassThrough, Readable, Writable } from "node:stream";
import type { TestContext } from "node:test";
import { localClients, ownKey } from "../src/compose/local-clients.ts";
import { createAptove } from "../src/compose.ts";
import { makeBackup, restoreBackup } from "../src/compose/backup.ts";
import { moveBlobs } from "../src/compose/data-folder/move-blobs.ts";
import { checkProvider } from "../src/compose/checks/check-providers.ts";
import { checkBlobs } from "../src/compose/open-blobs.ts";
import { checkMcpServers } from "../src/compose/check-mcp-servers.ts";
import { findRedisFault } from "../src/compose/open-live.ts";
import { listenForOperator } from "../src/compose/operator-address.ts";
import { openWorkspaces } from "../src/compose/open-workspaces.ts";
import type { AptoveOptions } from "../src/compose/options.ts";
import { readRecordsVersion } from "../src/compose/records-version.ts";
import { serveAcp } from "../src/compose/serve-acp.ts";
import { serveMcpClient } from "../src/compose/mounts/mcp.ts";
import { runCli, type CliIo, type CliPorts, type LocalEngine, type LocalSetup } from "../src/doors/cli/run-cli.ts";
import type { CloseOptions } from "../src/engine/engine.ts";
import { hostsOf } from "../src/system/addresses/own-addresses.ts";
import { httpDoor } from "../src/doors/http/door.ts";
import { listen, type ListeningServer } from "../src/doors/http/listen.ts";
import type { Tool } from "../src/tools/tool.ts";
import { temporaryFolder } from "./temporary-folder.ts";
import type { TestTerminal } from "./terminal.ts";

export interface CliRun {
  exit: number;
  stdout: string;
  stderr: string;
}

export interface RunOptions {
  /** The content of standard input. If absent, standard input is not piped. */
  stdin?: string;
  env?: Record<string, string>;
  cwd?: string;
  isTerminal?: boolean;
  /** The screen that the person sees. If present, `isTerminal` is true. */
  terminal?: TestTerminal;
}

/** A command that still runs. */
export interface LiveCli {
  io: CliIo;
  /** Emits `SIGINT` and similar signals. */
  signals: EventEmitter;
  input: PassThrough;
  finished: Promise<CliRun>;
  /** Resolves when standard output or error contains this text. Rejects if the command ends without it. */
  saw(text: string, times?: number): Promise<void>;
  /** Returns what standard output contains so far. */
  output(): string;
}

export interface CliWorld {
  dataDir: string;
  /** A git repository with one commit: `src/greet.ts` and `README.md`. */
  copy: string;
  run(argv: string[], options?: RunOptions): Promise<CliRun>;
  start(argv: string[], options?: RunOptions): LiveCli;
  write(path: string, content: string | Uint8Array): Promise<void>;
  git(...args: string[]): string;
}

export interface CliWorldOptions extends Partial<AptoveOptions> {
  /** The programs that a chat runs in this process. */
  sessionTools?: Tool[];
  /** True if `doctor` and `config check` call the configured providers. Most tests name providers that do not exist. */
  asksProviders?: boolean;
  /** The place of the contents of conversations in a new data folder. */
  store?: "database" | "files";
  /** False: there is no data folder yet. Else there is an empty one. */
  hasDataFolder?: boolean;
}

export async function cliWorld(
  context: TestContext,
  { sessionTools = [], asksProviders = false, store, hasDataFolder = true, ...options }: CliWorldOptions = {},
): Promise<CliWorld> {
  const closers: (() => Promise<void>)[] = [];
  // Registered before the folder's cleanup: what still runs in the folder ends before it is removed.
  // Node keeps this function after the test, so it lets go of the engines: the more memory a process has, the longer it
  // takes to start git.
  context.after(async () => void (await Promise.all(closers.splice(0).map((close) => close()))));
  const folder = await temporaryFolder(context);
  const dataDir = join(folder, "data");
  const copy = join(folder, "copy");
  await mkdir(copy);
  if (hasDataFolder) await mkdir(dataDir, { mode: 0o700 });
  const write = async (path: string, content: string | Uint8Array): Promise<void> => {
    await mkdir(dirname(join(copy, path)), { recursive: true });
    await writeFile(join(copy, path), content);
  };
  const git = (...args: string[]): string => runGit(copy, args);
  await write("src/greet.ts", 'export function greet(name: string): string {\n  return "hello " + name;\n}\n');
  await write("README.md", "# Greeter\n\nGreets people by name.\n");
  commitAll(copy, ["src/greet.ts", "README.md"]);
  const ports: CliPorts = {
    version: "0.0.0-test",
    bin: "/opt/aptove/bin/aptove.mjs",
    openLocal: (setup) => openTestEngine(closers, setup, options),
    serveAcp,
    serveMcp: serveMcpClient,
    openWorkspaces: async (data) => openWorkspaces(data),
    openSessionTools: async () => ({
      tools: async () => sessionTools,
      warnings: () => [],
      close: async () => {},
    }),
    checkProvider: asksProviders ? checkProvider : async () => null,
    checkBlobs,
    postgresVersion: readRecordsVersion,
    redisFault: findRedisFault,
    checkMcpServers: (request) => checkMcpServers({ ...request, version: "0.0.0-test" }),
    backup: (data, request) => makeBackup({ folder: data, version: "0.0.0-test", ...request }),
    moveBlobs: (data, request) => moveBlobs({ folder: data, ...request }),
    restore: (data, request) => restoreBackup({ folder: data, version: "0.0.0-test", ...request }),
  };
  const stored = store === undefined ? {} : { APTOVE_BLOBS_STORE: store };
  const start = (argv: string[], more: RunOptions = {}): LiveCli =>
    startCli(argv, ports, { dataDir, copy, more: { ...more, env: { ...stored, ...more.env } } });
  return { dataDir, copy, write, git, start, run: (argv, more) => start(argv, more).finished };
}

/** The `.git` folder of the first world. Every world has the same files, and git takes longer than many tests. */
const committed = new Map<string, Buffer>();
/** The time of the last change of each committed file. */
const committedAt = new Date("2026-01-01T00:00:00Z");

/**
 * Commits the files of a new world. git knows a file by its time and size alone, so that the index of the first world fits
 * the files of every other one, and git does not read them again at each question.
 */
function commitAll(copy: string, files: readonly string[]): void {
  for (const file of files) utimesSync(join(copy, file), committedAt, committedAt);
  const folder = join(copy, ".git");
  if (committed.size === 0) {
    runGit(copy, ["init", "--quiet", "--template="]);
    runGit(copy, ["config", "core.checkStat", "minimal"]);
    runGit(copy, ["config", "core.trustctime", "false"]);
    runGit(copy, ["add", "."]);
    runGit(copy, ["commit", "--quiet", "-m", "start"]);
    for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
      const path = join(entry.parentPath, entry.name);
      if (entry.isFile()) committed.set(relative(folder, path), readFileSync(path));
    }
  }
  for (const name of ["refs", "objects"]) mkdirSync(join(folder, name), { recursive: true });
  for (const [name, bytes] of committed) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), bytes);
  }
}

/** Settings that hide the user's own git configuration: a signing key or a hook would make the tests depend on the machine. */
function runGit(cwd: string, args: string[]): string {
  const who = ["-c", "user.name=Test", "-c", "user.email=test@example.org", "-c", "commit.gpgsign=false"];
  const env = { ...process.env, GIT_CONFIG_GLOBAL: "/dev/null", GIT_CONFIG_NOSYSTEM: "1" };
  return execFileSync("git", [...who, ...args], { cwd, env, encoding: "utf8" });
}

async function openTestEngine(
  closers: (() => Promise<void>)[],
  setup: LocalSetup,
  options: Partial<AptoveOptions>,
): Promise<LocalEngine> {
  const aptove = await createAptove({ ...setup, ...options });
  const { engine, configuration, report } = aptove;
  const owner = await engine.keys.owner();
  const allowedHosts = hostsOf(configuration.serve.host);
  const listening: ListeningServer[] = [];
  let closing: Promise<void> | null = null;
  const onTurnsEnded = async (): Promise<void> => {
    for (const one of listening) await one.close();
  };
  const close = async (how?: CloseOptions): Promise<void> => {
    await engine.close({ ...how, onTurnsEnded });
  };
  // A command that was stopped at once leaves its engine open until the process ends, which here is the test's process.
  closers.push(() => (closing ??= close({ graceMs: 0 })));
  return {
    ...(await localClients({ engine, report })),
    indexes: {
      index: async ({ orgId = owner.orgId, ...job }) => await engine.indexes.index({ ...owner, orgId }, job),
      list: async (orgId = owner.orgId) => await engine.indexes.list({ ...owner, orgId }),
    },
    recordsAbout: () => engine.recordsAbout(),
    verifyAll: (onTurn) => engine.explain.verifyAll(owner, onTurn),
    report,
    listen: async (at) => {
      const operator = await listenForOperator(aptove);
      if (operator !== null) listening.push(operator);
      const own = ownKey(engine, owner);
      const server = await listen(httpDoor({ engine, report, allowedHosts, authenticate: own.authenticate }), at);
      listening.push(server);
      return { url: server.url, key: own.key };
    },
    close: (how) => (closing ??= close(how)),
  };
}

function startCli(
  argv: string[],
  ports: CliPorts,
  { dataDir, copy, more }: { dataDir: string; copy: string; more: RunOptions },
): LiveCli {
  const signals = new EventEmitter();
  const input = new PassThrough();
  const written = { stdout: "", stderr: "" };
  const watchers = new Set<() => void>();
  const isTTY = more.isTerminal === true || more.terminal !== undefined;
  const sink = (name: "stdout" | "stderr"): CliIo["stdout"] => {
    const stream = new Writable({
      write: (chunk: Buffer, _encoding, done) => {
        written[name] += chunk.toString();
        more.terminal?.write(chunk.toString());
        for (const watch of watchers) watch();
        done();
      },
    });
    return Object.assign(stream, { isTTY, ...more.terminal?.size() });
  };
  const stdin = more.stdin === undefined ? input : Readable.from([Buffer.from(more.stdin)]);
  const io: CliIo = {
    stdin: Object.assign(stdin, { isTTY }),
    stdout: sink("stdout"),
    stderr: sink("stderr"),
    env: { PATH: process.env["PATH"], HOME: dataDir, APTOVE_DATA_DIR: dataDir, ...more.env },
    cwd: more.cwd ?? copy,
    signals,
    inputKind: () => (more.stdin === undefined ? "none" : "file"),
  };
  const finished = runCli(argv, io, ports).then((exit) => ({ exit, ...written }));
  const saw = (text: string, times = 1): Promise<void> =>
    new Promise((resolve, reject) => {
      const watch = (): void => {
        if (![written.stdout, written.stderr].some((all) => all.split(text).length > times)) return;
        watchers.delete(watch);
        resolve();
      };
      watchers.add(watch);
      watch();
      const ended = async (): Promise<void> => {
        await finished;
        watch();
        reject(new Error(`ended without "${text}": ${JSON.stringify(written)}`));
      };
      void ended();
    });
  return { io, signals, input, finished, saw, output: () => written.stdout };
}
