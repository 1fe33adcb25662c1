/**
 * Opens the tools of a session's MCP servers (P5). The servers start in parallel and in the background. A server that does
 * not start, hangs or sends wrong messages affects only its own tools. Without a server, the protocol's library is not loaded.
 */
import { sha256 } from "../../domain/ids.ts";
import { limits } from "../../domain/limits.ts";
import type { ToolCallView } from "../../domain/tool.ts";
import type { McpServer } from "../session-tools.ts";
import { shownPath, visibleText } from "../shown-text.ts";
import type { Tool } from "../tool.ts";
import type { AnswerForm } from "./answer-form.ts";
import { secretHider } from "./hide-secrets.ts";
import { kindOfName } from "./kind-of-name.ts";
import { type OfferedMcpTool, offerMcpTools, safeName, serverLabel } from "./offered-tools.ts";
import { serverLog } from "./server-log.ts";
import { ServerRun, type ServerState, type ServerTimes } from "./server-run.ts";

export interface McpToolsRequest {
  /** The servers. Of two with the same name, the first is used. */
  servers: readonly McpServer[];
  /** The folder of the log files, `<server>.log`. Null: no logs are kept. */
  logFolder: string | null;
  /** Absolute paths. Servers receive them as their roots and are started in the first one. */
  folders?: readonly string[];
  /** The environment. Servers receive only the variables that every program needs, such as PATH and HOME. */
  env: Readonly<Record<string, string | undefined>>;
  /** The version of this program, which servers receive. */
  version: string;
  /** Answers the forms of servers. Absent: servers are informed that no person can be asked. */
  answerForm?: AnswerForm;
  /** Returns the time in milliseconds since the epoch. */
  now?(): number;
  /** Times that replace those in `limits`. */
  times?: Partial<ServerTimes & { waitMs: number }>;
}

export interface McpTools {
  /**
   * Returns the tools of the servers that are ready, in the same order every time. Waits a limited time for servers that
   * start for the first time; tools of a later server are in the next answer. Reads a list again if it has changed.
   */
  tools(): Promise<readonly Tool[]>;
  /** Warnings of one line each: servers that are not running, and tools that were left out. */
  warnings(): readonly string[];
  status(): McpServerStatus[];
  /** Ends every server with all processes that it started. A second call has no effect. */
  close(): Promise<void>;
}

/** The state of one server. */
export interface McpServerStatus {
  name: string;
  type: McpServer["type"];
  state: ServerState;
  /** The server's name and version, as it reports them. Null if it never started. */
  version: string | null;
  /** The version of MCP. Null if it never started. */
  protocol: string | null;
  /** The names of its tools at the server. */
  tools: string[];
  /** The failure of the server, in words that follow its name, as those of `faults` do. Null if it has none. */
  failure: string | null;
  /** Faults of tools that were left out. */
  faults: readonly string[];
  /** The duration of its last start in milliseconds. Null if it never started. */
  startedInMs: number | null;
}

export function openMcpTools(request: McpToolsRequest): McpTools {
  const twice = request.servers.filter(
    ({ name }, at) => request.servers.findIndex((each) => each.name === name) !== at,
  );
  const runs = request.servers.filter((server) => !twice.includes(server)).map((server) => runOf(server, request));
  const firstStart = Promise.all(runs.map((run) => run.start()));
  const waited = Promise.race([
    firstStart,
    pause(runs.length === 0 ? 0 : (request.times?.waitMs ?? limits.mcpStartWaitMs)),
  ]);
  let offerFaults: readonly string[] = [];
  return {
    tools: async () => {
      await waited;
      // A server that is not running may start again, for the next call.
      for (const run of runs) void run.start();
      await Promise.all(runs.map((run) => run.refresh()));
      const offered = offerMcpTools(runs.map(({ server, tools }) => ({ server: server.name, tools })));
      offerFaults = offered.faults;
      const byName = new Map(runs.map((run) => [run.server.name, run]));
      return offered.tools.flatMap((tool) => {
        const run = byName.get(tool.server);
        return run === undefined ? [] : [toolOf(tool, run, serverKey(run.server, request.folders?.[0] ?? ""))];
      });
    },
    warnings: () => [
      ...twice.map(({ name }) => `${serverLabel(name)} is left out: another server has the same name`),
      ...runs.flatMap(warningsOf),
      ...offerFaults,
    ],
    status: () => runs.map(statusOf),
    close: async () => {
      await Promise.all(runs.map((run) => run.close()));
    },
  };
}

const usualTimes: ServerTimes = {
  startMs: limits.mcpStartMs,
  restartMs: limits.mcpRestartMs,
  answerMs: limits.mcpAnswerMs,
  idleMs: limits.toolTimeMs,
  callMs: limits.mcpCallMsMax,
};

function runOf(server: McpServer, request: McpToolsRequest): ServerRun {
  const { logFolder, folders = [], env, version, answerForm = null, now = Date.now, times } = request;
  const hide = secretHider(server);
  return new ServerRun({
    server,
    hide,
    now,
    log: serverLog({ folder: logFolder, name: fileName(server.name), hide, now }),
    surroundings: { folders, env, version, answerForm },
    times: { ...usualTimes, ...times },
  });
}

/** Returns the file name for a server. Different names give different files, even on a file system that ignores case. */
function fileName(name: string): string {
  const plain = safeName(name).slice(0, 64);
  return plain === name && plain === plain.toLowerCase() ? plain : `${plain}-${sha256(name).slice(0, 8)}`;
}

function toolOf(offered: OfferedMcpTool, run: ServerRun, key: string): Tool {
  const { name, description, schema, isReadOnly, offeredName } = offered;
  return {
    definition: {
      name: offeredName,
      ...(description !== "" && { description }),
      parameters: schema,
      effect: isReadOnly ? "read" : "run",
    },
    // The run's own limit applies first, because its message is more specific.
    timeMs: run.totalMs + 1_000,
    view: (args) => viewOf(offered, args, key),
    // A server may report falsely that a tool only reads. But such a server could also cause harm without a call.
    needsApproval: () => !isReadOnly,
    run: (args, context) => run.call(name, args, context),
  };
}

/**
 * Returns what a permission says about a server beside its name: a hash of its command or address, and the folder in which it
 * works. Another project's server of the same name is a different one. The values of headers do not count: they change with
 * every new key, and do not say what the server is.
 */
function serverKey(server: McpServer, folder: string): string {
  const what =
    server.type === "stdio"
      ? [server.command, server.args, Object.entries(server.env).toSorted(([one], [other]) => (one < other ? -1 : 1))]
      : [server.url, Object.keys(server.headers).toSorted()];
  return `${sha256(JSON.stringify([server.type, ...what])).slice(0, 32)} in ${JSON.stringify(folder)}`;
}

function viewOf(
  { server, name, isReadOnly }: OfferedMcpTool,
  args: Record<string, unknown>,
  serverKeyWords: string,
): ToolCallView {
  // Text that the server wrote must not look like a part of the permission question.
  const label = shownPath(`${server}: ${name}`);
  const text = JSON.stringify(args, null, 2);
  return {
    title: label,
    kind: kindOfName(name, isReadOnly),
    locations: [],
    content: text === "{}" ? [] : [{ type: "text", text: visibleText(text.toWellFormed()) }],
    // Names may contain spaces. The encoding makes sure that no two of them give the same key.
    permission: { key: `mcp ${keyWord(server)} ${keyWord(name)} ${serverKeyWords}`, label },
  };
}

function keyWord(name: string): string {
  return encodeURIComponent(name.toWellFormed());
}

function warningsOf({ server, state, failure, listFaults }: ServerRun): string[] {
  const name = serverLabel(server.name);
  const faults = listFaults.map((fault) => `${name}: ${fault}`);
  if (failure !== null) return [`${name} ${failure}`, ...faults];
  return state === "starting" ? [`${name} is still starting; its tools will be available later`] : faults;
}

function statusOf(run: ServerRun): McpServerStatus {
  const { server, state, version, protocol, failure, listFaults: faults, startedInMs } = run;
  const { name, type } = server;
  const tools = run.tools.map((tool) => shownPath(tool.name));
  return { name, type, state, version, protocol, tools, failure, faults, startedInMs };
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => void setTimeout(resolve, ms).unref());
}
