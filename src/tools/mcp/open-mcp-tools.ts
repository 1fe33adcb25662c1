/**
 * The tools of the MCP servers of one session (P5). The servers start side by side and in the background; one that does
 * not start, hangs or lies costs its own tools only. Nothing of the protocol is loaded while there is no server.
 */
import { sha256 } from "../../domain/ids.ts";
import { limits } from "../../domain/limits.ts";
import type { ToolCallView } from "../../domain/tool.ts";
import type { McpServer } from "../session-tools.ts";
import { shownPath } from "../shown-text.ts";
import type { Tool } from "../tool.ts";
import type { AnswerForm } from "./answer-form.ts";
import { secretHider } from "./hide-secrets.ts";
import { type OfferedTool, offerTools, plainWord, serverWords } from "./offered-tools.ts";
import { serverLog } from "./server-log.ts";
import { ServerRun, type ServerState, type ServerTimes } from "./server-run.ts";

export interface McpToolsRequest {
  /** Of two with one name the first counts. */
  servers: readonly McpServer[];
  /** Where each server has its log, `<server>.log`; null: nothing is kept. */
  logFolder: string | null;
  /** Absolute paths; servers are told of them as roots, and started in the first. */
  folders?: readonly string[];
  /** Of it, servers get what every program needs (PATH, HOME), and nothing else. */
  env: Readonly<Record<string, string | undefined>>;
  /** Of this program, as servers are told. */
  version: string;
  /** Absent: servers are told that nobody can be asked. */
  answerForm?: AnswerForm;
  /** Milliseconds since the epoch. */
  now?(): number;
  /** In place of what `limits` say. */
  times?: Partial<ServerTimes & { waitMs: number }>;
}

export interface McpTools {
  /**
   * The tools of the servers that are ready, in the same order every time. Waits for those that start for the first
   * time, for a bounded time; what comes up later is there the next time. A list that changed is read again.
   */
  tools(): Promise<readonly Tool[]>;
  /** One line each: servers that are not there, tools that were left out. */
  warnings(): readonly string[];
  status(): McpServerStatus[];
  /** Ends every server, with all that it started. Idempotent. */
  close(): Promise<void>;
}

export interface McpServerStatus {
  name: string;
  type: McpServer["type"];
  state: ServerState;
  /** Its name and version, as it says; null: it never started. */
  version: string | null;
  /** Version of MCP. */
  protocol: string | null;
  /** By their names at the server. */
  tools: string[];
  /** Null: nothing is wrong with it. In words that go on after its name, as those of `faults` do. */
  failure: string | null;
  /** Tools that were left out. */
  faults: readonly string[];
  /** How long its last start took, in milliseconds. */
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
      // One that is not there may come up again, for the next time.
      for (const run of runs) void run.start();
      await Promise.all(runs.map((run) => run.refresh()));
      const offered = offerTools(runs.map(({ server, tools }) => ({ server: server.name, tools })));
      offerFaults = offered.faults;
      const byName = new Map(runs.map((run) => [run.server.name, run]));
      return offered.tools.flatMap((tool) => {
        const run = byName.get(tool.server);
        return run === undefined ? [] : [toolOf(tool, run)];
      });
    },
    warnings: () => [
      ...twice.map(({ name }) => `${serverWords(name)} is left out: there is another one with this name`),
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

/** Names that differ give files that differ, also where a system does not tell capitals. */
function fileName(name: string): string {
  const plain = plainWord(name).slice(0, 64);
  return plain === name && plain === plain.toLowerCase() ? plain : `${plain}-${sha256(name).slice(0, 8)}`;
}

function toolOf(offered: OfferedTool, run: ServerRun): Tool {
  const { name, description, schema, isReadOnly, offeredName } = offered;
  return {
    definition: {
      name: offeredName,
      ...(description !== "" && { description }),
      parameters: schema,
      effect: isReadOnly ? "read" : "run",
    },
    // Its own limit counts first, and says more.
    timeMs: run.totalMs + 1_000,
    view: (args) => viewOf(offered, args),
    // A server may lie about what it changes; but one that would could do so without being called, too.
    needsApproval: () => !isReadOnly,
    run: (args, context) => run.call(name, args, context),
  };
}

const shownArgumentsCharactersMax = 65_536;

function viewOf({ server, name, isReadOnly }: OfferedTool, args: Record<string, unknown>): ToolCallView {
  // Whoever is asked about a call must not read what its server wrote as part of the question.
  const label = shownPath(`${server}: ${name}`);
  const text = JSON.stringify(args, null, 2);
  const hidden = text.length - shownArgumentsCharactersMax;
  const shown =
    hidden > 0 ? `${text.slice(0, shownArgumentsCharactersMax)}\n[… ${hidden} characters more, not shown]` : text;
  return {
    title: label,
    kind: isReadOnly ? "read" : "other",
    locations: [],
    content: text === "{}" ? [] : [{ type: "text", text: shown.toWellFormed() }],
    // Names of strangers may hold spaces; with these marks no two of them give one key.
    permission: { key: `mcp ${keyWord(server)} ${keyWord(name)}`, label },
  };
}

function keyWord(name: string): string {
  return encodeURIComponent(name.toWellFormed());
}

function warningsOf({ server, state, failure, listFaults }: ServerRun): string[] {
  const name = serverWords(server.name);
  const faults = listFaults.map((fault) => `${name}: ${fault}`);
  if (failure !== null) return [`${name} ${failure}`, ...faults];
  return state === "starting" ? [`${name} is still starting; its tools come later`] : faults;
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
