/**
 * Runs one server of a session, from its start to the session's end (P5). It starts at once and in the background. A server
 * that does not start, or ends, is started again when it is needed, but at most once per `restartMs`.
 */
import { setImmediate as nextRound } from "node:timers/promises";
import { unlessAborted } from "../../system/abort.ts";
import type { McpServer } from "../session-tools.ts";
import { shownText, visibleText } from "../shown-text.ts";
import type { ToolContext, ToolResult } from "../tool.ts";
import type { McpCallRequest, McpConnection, McpConnectionRequest } from "./mcp-connection.ts";
import { publicAddress } from "./hide-secrets.ts";
import { type ListedMcpTool, checkToolList, serverLabel } from "./offered-tools.ts";
import type { ServerLog } from "./server-log.ts";

/** The state of a server. `ended` means that it was started and is no longer running. */
export type ServerState = "starting" | "ready" | "failed" | "ended";

export interface ServerRunRequest {
  server: McpServer;
  log: ServerLog;
  /** Hides the server's secrets in a text (E8). */
  hide(text: string): string;
  now(): number;
  surroundings: Pick<McpConnectionRequest, "folders" | "env" | "version" | "answerForm">;
  times: ServerTimes;
}

/** Times of a server in milliseconds. */
export interface ServerTimes {
  startMs: number;
  restartMs: number;
  answerMs: number;
  /** The longest time of a call without progress, unless the server is configured with another. */
  idleMs: number;
  /** The longest time of a call in total, unless the server is configured with another. */
  callMs: number;
}

const loadLibrary = () => import("./mcp-connection.ts");

/** The most lines about errors that one connection writes to the log. */
const connectionErrorsMax = 50;

export class ServerRun {
  readonly server: McpServer;
  /** The tools that it listed last. A server that ended keeps them. */
  tools: readonly ListedMcpTool[] = [];
  /** The failure of the server, in words that follow its name. Null if it has none. */
  failure: string | null = null;
  /** Faults of its list of tools, each in words that follow the server's name. */
  listFaults: readonly string[] = [];
  version: string | null = null;
  protocol: string | null = null;
  /** The duration of the last start in milliseconds. Null before the first one. */
  startedInMs: number | null = null;
  readonly #request: ServerRunRequest;
  readonly #closed = new AbortController();
  #connection: McpConnection | null = null;
  #starting: Promise<void> | null = null;
  #startedAt = -Infinity;
  #isListOld = false;
  /** The last line of its standard error, which is often the reason why it ended. */
  #lastStderrLine = "";

  constructor(request: ServerRunRequest) {
    this.server = request.server;
    this.#request = request;
  }

  get state(): ServerState {
    if (this.#connection !== null) return "ready";
    if (this.#starting !== null) return "starting";
    return this.tools.length > 0 ? "ended" : "failed";
  }

  /** The longest time of a call in total, in milliseconds. */
  get totalMs(): number {
    return this.server.timeMs ?? this.#request.times.callMs;
  }

  /** Starts the server if it is not running and was not tried recently. Resolves when it is ready or has failed. */
  start(): Promise<void> {
    if (this.#starting !== null) return this.#starting;
    const isDue = this.#request.now() - this.#startedAt >= this.#request.times.restartMs;
    if (this.#connection !== null || !isDue || this.#closed.signal.aborted) return Promise.resolve();
    this.#startedAt = this.#request.now();
    this.#starting = this.#connect().finally(() => (this.#starting = null));
    return this.#starting;
  }

  /** Reads the list of tools again if the server reported a change. Keeps the old tools if it fails. */
  async refresh(): Promise<void> {
    const connection = this.#connection;
    if (connection === null || (!this.#isListOld && connection.reportsListChanges())) return;
    try {
      await this.#list(connection, this.#withTime(this.#request.times.answerMs));
    } catch (error) {
      this.#request.log.event(`its list of tools could not be read again: ${await this.#faultText(error)}`);
    }
  }

  /** Calls a tool. Never rejects. */
  async call(tool: string, args: Record<string, unknown>, context: ToolContext): Promise<ToolResult> {
    const { server, totalMs } = this;
    const idleMs = server.timeMs ?? this.#request.times.idleMs;
    const inTime = AbortSignal.timeout(totalMs);
    const signal = AbortSignal.any([context.signal, inTime, this.#closed.signal]);
    const onProgress = (text: string): void => context.showOutput(`${visibleText(this.#request.hide(text))}\n`);
    const { resultImages, resultText } = await import("./result-text.ts");
    try {
      const result = await this.#callOnce({ name: tool, args, signal, idleMs, onProgress });
      const images = resultImages(result);
      const output = this.#request.hide(resultText(result));
      return { output, isError: result.isError === true, ...(images.length > 0 && { content: images }) };
    } catch (error) {
      if (context.signal.aborted) return failed(server, "was interrupted");
      if (this.#closed.signal.aborted) return failed(server, "was closed");
      if (inTime.aborted) return this.#late(`gave no result within ${totalMs / 1_000} s`);
      const { isTimeout } = await loadLibrary();
      if (isTimeout(error)) return this.#late(`gave no result and showed no progress within ${idleMs / 1_000} s`);
      return failed(server, await this.#faultText(error));
    }
  }

  async close(): Promise<void> {
    this.#closed.abort();
    await this.#starting;
    const connection = this.#connection;
    this.#connection = null;
    await connection?.close();
  }

  /** Calls a tool. If the server lost its session, connects again and repeats the call, which was not executed (MCP, HTTP 404). */
  async #callOnce(request: McpCallRequest): Promise<Awaited<ReturnType<McpConnection["call"]>>> {
    const connection = await this.#connected(request.signal);
    try {
      return await connection.call(request);
    } catch (error) {
      const { isSessionLost } = await loadLibrary();
      if (!isSessionLost(error)) throw error;
      this.#request.log.event("lost its session; connecting again");
      this.#drop(connection, "lost its session");
      this.#startedAt = -Infinity;
      return await (await this.#connected(request.signal)).call(request);
    }
  }

  /** Returns the connection, and starts the server if needed. Rejects with a `ServerUnavailable` if that fails. */
  async #connected(signal: AbortSignal): Promise<McpConnection> {
    await unlessAborted(this.start(), signal);
    if (this.#connection !== null) return this.#connection;
    const restartMs = this.#startedAt + this.#request.times.restartMs - this.#request.now();
    throw new ServerUnavailable(
      `${this.failure ?? "is not running"}; it can be started again in ${seconds(restartMs)}`,
    );
  }

  async #connect(): Promise<void> {
    const { log, hide, surroundings, times } = this.#request;
    const { server } = this;
    const signal = this.#withTime(times.startMs);
    const begun = performance.now();
    let [connectionErrors, lastError] = [0, ""];
    log.event(server.type !== "stdio" ? `connecting to ${publicAddress(server.url)}` : `starting ${server.command}`);
    // Loading blocks the process for a tenth of a second, and the caller that opened the session should be answered first.
    await nextRound();
    try {
      const { connectMcpServer } = await loadLibrary();
      const connection = await connectMcpServer({
        server,
        ...surroundings,
        signal,
        onStderr: (text) => this.#onStderr(text),
        onListChanged: () => (this.#isListOld = true),
        onConnectionError: (text) => {
          connectionErrors += 1;
          lastError = text.slice(0, 300);
          if (connectionErrors <= connectionErrorsMax) log.event(`connection error: ${text.slice(0, 500)}`);
        },
      });
      await this.#list(connection, signal).catch(async (error: unknown) => {
        await connection.close();
        throw error;
      });
      this.#connection = connection;
      this.failure = null;
      this.version = shownText(hide(connection.version));
      this.protocol = connection.protocol;
      this.startedInMs = Math.round(performance.now() - begun);
      log.event(`ready: ${this.version}, MCP ${this.protocol}, tools: ${this.tools.length}, ${this.startedInMs} ms`);
      void connection.ended.then((why) => this.#drop(connection, why));
    } catch (error) {
      const reported = lastError === "" ? "" : `; the last error of its connection: ${lastError}`;
      const late = `did not start within ${seconds(times.startMs)}${reported}`;
      this.failure = signal.aborted ? this.#withLastStderrLine(late) : await this.#faultText(error);
      if (!this.#closed.signal.aborted) log.event(this.failure);
    }
  }

  async #list(connection: McpConnection, signal: AbortSignal): Promise<void> {
    this.#isListOld = false;
    const { tools, faults } = checkToolList(await connection.listTools(signal));
    this.tools = tools;
    this.listFaults = faults;
    for (const fault of faults) this.#request.log.event(fault);
  }

  #drop(connection: McpConnection, why: string): void {
    if (this.#connection !== connection) return;
    this.#connection = null;
    this.failure = this.#withLastStderrLine(why);
    this.#request.log.event(this.failure);
    void connection.close();
  }

  /** Handles a call that got no result in time. A process that no longer responds is dropped, so the next call starts a new one. */
  async #late(what: string): Promise<ToolResult> {
    const connection = this.#connection;
    if (connection !== null && this.server.type === "stdio") {
      void connection.answersPing(this.#request.times.answerMs).then((answers) => {
        if (!answers) this.#drop(connection, "no longer responds");
      });
    }
    this.#request.log.event(what);
    return failed(this.server, what);
  }

  #onStderr(text: string): void {
    this.#request.log.stderr(text);
    const line = text.trimEnd().split("\n").at(-1)?.trim() ?? "";
    if (line !== "") this.#lastStderrLine = line.slice(0, 300);
  }

  async #faultText(error: unknown): Promise<string> {
    if (error instanceof ServerUnavailable) return error.message;
    const { faultOf } = await loadLibrary();
    return this.#withLastStderrLine(faultOf(error));
  }

  #withLastStderrLine(why: string): string {
    const { hide } = this.#request;
    return shownText(
      hide(this.#lastStderrLine === "" ? why : `${why}; the last line of its standard error: ${this.#lastStderrLine}`),
    );
  }

  #withTime(ms: number): AbortSignal {
    return AbortSignal.any([this.#closed.signal, AbortSignal.timeout(ms)]);
  }
}

/** No connection is available. The message follows the server's name. */
class ServerUnavailable extends Error {}

function failed({ name }: McpServer, why: string): ToolResult {
  return { output: `failed: ${serverLabel(name)} ${why}`, isError: true };
}

function seconds(ms: number): string {
  return `${Math.max(1, Math.ceil(ms / 1_000))} s`;
}
