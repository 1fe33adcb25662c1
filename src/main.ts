/**
 * The program: the command line over an engine in this process. The command line is an HTTP client like any
 * other. Here it calls the HTTP door without a socket, as the owner of the data folder.
 */
import { fstatSync } from "node:fs";
import { join } from "node:path";
import type { HttpDoor, HttpDoorOptions } from "./doors/http/door.ts";
import { runCli } from "./doors/cli/run-cli.ts";
import type { CliIo, CliPorts, LocalEngine, LocalSetup } from "./doors/cli/ports.ts";
import { hostsOf } from "./system/addresses/own-addresses.ts";
import { aptoveVersion, packageFolder } from "./version.ts";

async function openLocal({ writeLog, isCommand = false, ...setup }: LocalSetup): Promise<LocalEngine> {
  const [{ createAptove }, { localClients, ownKey }] = await Promise.all([
    import("./compose.ts"),
    import("./compose/local-clients.ts"),
  ]);
  const observer = isCommand ? {} : (await import("./compose/young-generation.ts")).youngGenerationGrowth();
  const aptove = await createAptove({ ...setup, observer, isCommand, ...(writeLog !== undefined && { writeLog }) });
  const { engine, configuration, report, telemetry } = aptove;
  const owner = await engine.keys.owner();
  const { host, allowedHosts, allowedOrigins } = configuration.serve;
  const doorOptions: HttpDoorOptions = {
    engine,
    limits: configuration.limits,
    allowedHosts: [...allowedHosts, ...hostsOf(host)],
    allowedOrigins,
    heartbeatMs: configuration.limits.heartbeatMs,
    report,
    observer: telemetry.observer,
  };
  let stopListening: () => Promise<void> = async () => {};
  return {
    ...(await localClients(doorOptions)),
    indexes: {
      index: async ({ orgId = owner.orgId, ...job }) => await engine.indexes.index({ ...owner, orgId }, job),
      list: async (orgId = owner.orgId) => await engine.indexes.list({ ...owner, orgId }),
    },
    recordsAbout: () => engine.recordsAbout(),
    verifyAll: (onTurn) => engine.explain.verifyAll(owner, onTurn),
    report,
    listen: async (at) => {
      const [{ httpDoor }, { listen }, { allMounts }, { listenForOperator }, { findPage }, { noteServerStarted }] =
        await Promise.all([
          import("./doors/http/door.ts"),
          import("./doors/http/listen.ts"),
          import("./compose/mounts/all-mounts.ts"),
          import("./compose/operator-address.ts"),
          import("./doors/http/page/find-page.ts"),
          import("./compose/server-started.ts"),
        ]);
      const operator = await listenForOperator(aptove);
      const own = ownKey(engine, owner);
      const { mounts, close } = allMounts(aptove, { fetch: (request) => door.fetch(request) });
      const page = findPage(packageFolder());
      const door: HttpDoor = httpDoor({ ...doorOptions, mounts, authenticate: own.authenticate, page });
      const listening = await listen(door, at);
      stopListening = async () => {
        await close();
        // The turns have ended, so open streams end by themselves. The grace is for clients that stopped reading.
        await listening.close({ graceMs: 1_000 });
        await operator?.close();
      };
      await noteServerStarted(aptove, listening.url);
      return { url: listening.url, key: own.key };
    },
    close: async (options) => {
      await engine.close({ ...options, onTurnsEnded: () => stopListening() });
      await telemetry.close();
    },
  };
}

const bin = join(packageFolder(), "bin", process.platform === "win32" ? "aptove.mjs" : "aptove");
const version = aptoveVersion();
const ports: CliPorts = {
  version,
  bin,
  openLocal,
  serveAcp: async (setup) => await (await import("./compose/serve-acp.ts")).serveAcp(setup),
  serveMcp: async (setup) => await (await import("./compose/mounts/mcp.ts")).serveMcpClient(setup),
  openSessionTools: async (setup, request) => {
    const { sessionToolsOpener } = await import("./compose/session-tools.ts");
    return await sessionToolsOpener({ ...setup, configured: async () => null, version })(request);
  },
  openWorkspaces: async (folder) => (await import("./compose/open-workspaces.ts")).openWorkspaces(folder),
  backup: async (folder, request) =>
    await (await import("./compose/backup.ts")).makeBackup({ folder, version, ...request }),
  restore: async (folder, request) =>
    await (await import("./compose/backup.ts")).restoreBackup({ folder, version, ...request }),
  moveBlobs: async (folder, request) =>
    await (await import("./compose/data-folder/move-blobs.ts")).moveBlobs({ folder, ...request }),
  checkMcpServers: async (request) => {
    const { checkMcpServers } = await import("./compose/check-mcp-servers.ts");
    return await checkMcpServers({ ...request, version });
  },
  checkProvider: async (providers, name) =>
    await (await import("./compose/checks/check-providers.ts")).checkProvider(providers, name),
  postgresVersion: async (url) => await (await import("./compose/records-version.ts")).readRecordsVersion(url),
  checkBlobs: async (configuration, folder, env) =>
    await (await import("./compose/open-blobs.ts")).checkBlobs(configuration, folder, env),
  redisFault: async (url) => await (await import("./compose/open-live.ts")).findRedisFault(url),
};

/** Returns the kind of standard input. A pipe or file of the shell ends; a socket belongs to a program and may never send anything. */
function inputKind(): ReturnType<CliIo["inputKind"]> {
  if (process.stdin.isTTY) return "none";
  try {
    const stat = fstatSync(0);
    if (stat.isFIFO() || stat.isFile()) return "file";
    return stat.isSocket() ? "socket" : "none";
  } catch {
    // Standard input may be closed.
    return "none";
  }
}

function suspend(onContinue: () => void): void {
  process.once("SIGCONT", onContinue);
  process.kill(process.pid, "SIGTSTP");
}

const io: CliIo = {
  // Node loads the code of standard input when it is first read, which few commands do.
  get stdin() {
    return process.stdin;
  },
  stdout: process.stdout,
  stderr: process.stderr,
  env: process.env,
  cwd: process.cwd(),
  signals: process,
  inputKind,
  ...(process.platform !== "win32" && { suspend }),
};

// Without a listener Node opens its debugger on loopback, where every user of this machine can run code in this process (H4).
process.on("SIGUSR1", () => undefined);

// Everything is written and closed. What may keep the process alive (a second Ctrl-C, a silent pipe) is not waited for.
void runCli(process.argv.slice(2), io, ports).then((exit) => process.exit(exit));
