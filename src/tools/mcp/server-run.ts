/**
 * One server of a session, from its start to the session's end (P5). It is started at once and in the background; one
 * that does not start, or that ends, is started again when it is needed, but not more often than once in a while.
 */
import { setImmediate as nextRound } from "node:timers/promises";
import { unlessAborted } from "../../system/abort.ts";
import type { McpServer } from "../session-tools.ts";
import { shownText } from "../shown-text.ts";
import type { ToolContext, ToolResult } from "../tool.ts";
import type { CallRequest, Connection, ConnectRequest } from "./connect.ts";
import { publicAddress } from "./hide-secrets.ts";
import { type ListedTool, readList, serverWords } from "./offered-tools.ts";
import type { ServerLog } from "./server-log.ts";

/** `ended`: it was started, and is not there any more. */
export type ServerState = "starting" | "ready" | "failed" | "ended";

export interface ServerRunRequest {
  server: McpServer;
  log: ServerLog;
  /** Takes the server's secrets out of a text (E8). */
  hide(text: string): string;
  now(): number;
  surroundings: Pick<ConnectRequest, "folders" | "env" | "version" | "answerForm">;
  times: ServerTimes;
}

/** In milliseconds. */
export interface ServerTimes {
  startMs: number;
  restartMs: number;
  answerMs: number;
  /** Of a call, where its server does not say otherwise: without a sign of life, and in total. */
  idleMs: number;
  callMs: number;
}

const loadLibrary = () => import("./connect.ts");

/** Lines about noise in the log, of one connection; there may be any number of it. */
const noiseLinesMax = 50;

export class ServerRun {
  readonly server: McpServer;
  /** As it was listed last; a server that ended keeps its tools. */
  tools: readonly ListedTool[] = [];
  /** What is wrong with it; null: nothing. In words that go on after the server's name. */
  failure: string | null = null;
  /** Faults of its list of tools, each in words that go on after the server's name. */
  listFaults: readonly string[] = [];
  version: string | null = null;
  protocol: string | null = null;
  /** How long the last start took, in milliseconds. */
  startedInMs: number | null = null;
  readonly #request: ServerRunRequest;
  readonly #closed = new AbortController();
  #connection: Connection | null = null;
  #starting: Promise<void> | null = null;
  #startedAt = -Infinity;
  #isListOld = false;
  /** The last line of its standard error: often the reason why it ended. */
  #lastWords = "";

  constructor(request: ServerRunRequest) {
    this.server = request.server;
    this.#request = request;
  }

  get state(): ServerState {
    if (this.#connection !== null) return "ready";
    if (this.#starting !== null) return "starting";
    return this.tools.length > 0 ? "ended" : "failed";
  }

  /** How long a call may take in all, in milliseconds. */
  get totalMs(): number {
    return this.server.timeMs ?? this.#request.times.callMs;
  }

  /** Starts it, where it is not running, and was not tried lately. Resolves when it is ready or has failed. */
  start(): Promise<void> {
    if (this.#starting !== null) return this.#starting;
    const isDue = this.#request.now() - this.#startedAt >= this.#request.times.restartMs;
    if (this.#connection !== null || !isDue || this.#closed.signal.aborted) return Promise.resolve();
    this.#startedAt = this.#request.now();
    this.#starting = this.#connect().finally(() => (this.#starting = null));
    return this.#starting;
  }

  /** Asks for its tools again, where it said that they changed. Keeps the ones it had where it gives no others. */
  async refresh(): Promise<void> {
    const connection = this.#connection;
    if (connection === null || (!this.#isListOld && connection.hearsChanges())) return;
    try {
      await this.#list(connection, this.#withTime(this.#request.times.answerMs));
    } catch (error) {
      this.#request.log.event(`its list of tools could not be read again: ${await this.#words(error)}`);
    }
  }

  /** Never rejects. */
  async call(tool: string, args: Record<string, unknown>, context: ToolContext): Promise<ToolResult> {
    const { server, totalMs } = this;
    const idleMs = server.timeMs ?? this.#request.times.idleMs;
    const inTime = AbortSignal.timeout(totalMs);
    const signal = AbortSignal.any([context.signal, inTime, this.#closed.signal]);
    const onProgress = (text: string): void => context.showOutput(`${this.#request.hide(text)}\n`);
    const { resultText } = await import("./result-text.ts");
    try {
      const result = await this.#callOnce({ name: tool, args, signal, idleMs, onProgress });
      return { output: this.#request.hide(resultText(result)), isError: result.isError === true };
    } catch (error) {
      if (context.signal.aborted) return failed(server, "was interrupted");
      if (this.#closed.signal.aborted) return failed(server, "was closed");
      if (inTime.aborted) return this.#late(`gave no result within ${totalMs / 1_000} s`);
      const { isTimeout } = await loadLibrary();
      if (isTimeout(error)) return this.#late(`gave no result and showed no progress within ${idleMs / 1_000} s`);
      return failed(server, await this.#words(error));
    }
  }

  async close(): Promise<void> {
    this.#closed.abort();
    await this.#starting;
    const connection = this.#connection;
    this.#connection = null;
    await connection?.close();
  }

  /** One that forgot its session is connected to anew: it has not done what it was asked to (MCP, HTTP 404). */
  async #callOnce(request: CallRequest): Promise<Awaited<ReturnType<Connection["call"]>>> {
    const connection = await this.#connected(request.signal);
    try {
      return await connection.call(request);
    } catch (error) {
      const { isSessionLost } = await loadLibrary();
      if (!isSessionLost(error)) throw error;
      this.#request.log.event("forgot its session; connecting anew");
      this.#drop(connection, "forgot its session");
      this.#startedAt = -Infinity;
      return await (await this.#connected(request.signal)).call(request);
    }
  }

  /** Rejects with a `ServerGone` where there is no way to it. */
  async #connected(signal: AbortSignal): Promise<Connection> {
    await unlessAborted(this.start(), signal);
    if (this.#connection !== null) return this.#connection;
    const restartMs = this.#startedAt + this.#request.times.restartMs - this.#request.now();
    throw new ServerGone(`${this.failure ?? "is not running"}; it can be started again in ${seconds(restartMs)}`);
  }

  async #connect(): Promise<void> {
    const { log, hide, surroundings, times } = this.#request;
    const { server } = this;
    const signal = this.#withTime(times.startMs);
    const begun = performance.now();
    let noiseLines = 0;
    log.event(server.type === "http" ? `connecting to ${publicAddress(server.url)}` : `starting ${server.command}`);
    // Loading keeps the process busy for a tenth of a second, and whoever opened the session wants to answer first.
    await nextRound();
    try {
      const { connect } = await loadLibrary();
      const connection = await connect({
        server,
        ...surroundings,
        signal,
        onStderr: (text) => this.#heard(text),
        onListChanged: () => (this.#isListOld = true),
        onNoise: (text) => {
          noiseLines += 1;
          if (noiseLines <= noiseLinesMax) log.event(`noise: ${text.slice(0, 500)}`);
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
      this.failure = signal.aborted ? `did not start within ${seconds(times.startMs)}` : await this.#words(error);
      if (!this.#closed.signal.aborted) log.event(this.failure);
    }
  }

  async #list(connection: Connection, signal: AbortSignal): Promise<void> {
    this.#isListOld = false;
    const { tools, faults } = readList(await connection.listTools(signal));
    this.tools = tools;
    this.listFaults = faults;
    for (const fault of faults) this.#request.log.event(fault);
  }

  #drop(connection: Connection, why: string): void {
    if (this.#connection !== connection) return;
    this.#connection = null;
    this.failure = this.#withLastWords(why);
    this.#request.log.event(this.failure);
    void connection.close();
  }

  /** What did not answer in time may never answer again: then the next call finds another. */
  async #late(what: string): Promise<ToolResult> {
    const connection = this.#connection;
    if (connection !== null && this.server.type === "stdio") {
      void connection.answersPing(this.#request.times.answerMs).then((answers) => {
        if (!answers) this.#drop(connection, "does not answer any more");
      });
    }
    this.#request.log.event(what);
    return failed(this.server, what);
  }

  #heard(text: string): void {
    this.#request.log.said(text);
    const line = text.trimEnd().split("\n").at(-1)?.trim() ?? "";
    if (line !== "") this.#lastWords = line.slice(0, 300);
  }

  async #words(error: unknown): Promise<string> {
    if (error instanceof ServerGone) return error.message;
    const { faultOf } = await loadLibrary();
    return this.#withLastWords(faultOf(error));
  }

  #withLastWords(why: string): string {
    const { hide } = this.#request;
    return shownText(hide(this.#lastWords === "" ? why : `${why}; its last words: ${this.#lastWords}`));
  }

  #withTime(ms: number): AbortSignal {
    return AbortSignal.any([this.#closed.signal, AbortSignal.timeout(ms)]);
  }
}

/** There is nobody to call. The message goes on after the server's name. */
class ServerGone extends Error {}

function failed({ name }: McpServer, why: string): ToolResult {
  return { output: `failed: ${serverWords(name)} ${why}`, isError: true };
}

function seconds(ms: number): string {
  return `${Math.max(1, Math.ceil(ms / 1_000))} s`;
}
