/**
 * The connection to a server that runs as a child process, over its standard input and output (P5). It replaces the
 * library's transport: here the server leads a process group that ends with it, its messages are limited in length and
 * number, and its standard error is read at the same limited rate.
 */
import type { ChildProcess } from "node:child_process";
import { randomUUID } from "node:crypto";
import { StringDecoder } from "node:string_decoder";
import {
  deserializeMessage,
  type JSONRPCMessage,
  serializeMessage,
  type Transport,
} from "@modelcontextprotocol/client";
import spawn from "cross-spawn";
import { limits } from "../../domain/limits.ts";
import { endIfOrphaned, type OrphanWatch } from "../../system/end-orphans.ts";
import { startedPid } from "../../system/processes.ts";
import { endProcess } from "./end-process.ts";
import { withKnownParts } from "./known-parts.ts";
import { MessageLines } from "./message-lines.ts";
import { ReadThrottle } from "./read-throttle.ts";

export interface ServerProcess {
  command: string;
  args: readonly string[];
  /** The complete environment of the process. */
  env: Record<string, string>;
  /** An absolute path. Null: the working folder of this process. */
  cwd: string | null;
  onStderr(text: string): void;
}

/** The variable that marks the processes of one server, so that those are found too that left its group. */
const markName = "APTOVE_MCP_SERVER";

/** The JSON-RPC code for an internal error of the responding side. */
const internalError = -32_603;

/** The time in milliseconds to wait for output that a process wrote before its end. A process that it started may keep the output open. */
const lastOutputMs = 250;

export class StdioTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;
  /** The library takes a transport with these two fields for one that is not HTTP. */
  readonly stderr = null;
  pid: number | null = null;
  /** The reason why the connection ended, in words that follow the server's name. Null if it is open. */
  why: string | null = null;
  readonly #process: ServerProcess;
  readonly #lines = new MessageLines();
  readonly #mark = randomUUID();
  #child: ChildProcess | null = null;
  #watch: OrphanWatch | null = null;
  #ending: Promise<void> | null = null;

  constructor(process: ServerProcess) {
    this.#process = process;
  }

  /** Starts the process. Rejects with the system's error if there is no such command. */
  async start(): Promise<void> {
    const { command, args, env, cwd } = this.#process;
    const child = spawn(command, args, {
      env: { ...env, [markName]: this.#mark },
      ...(cwd !== null && { cwd }),
      stdio: ["pipe", "pipe", "pipe"],
      detached: process.platform !== "win32",
      windowsHide: true,
    });
    this.#child = child;
    this.pid = await startedPid(child);
    this.#watch = endIfOrphaned(this.pid);
    child.on("error", (error) => this.onerror?.(error));
    // A write error is reported by the end of the process.
    child.stdin?.on("error", () => false);
    this.#readMessages(child);
    this.#readStderr(child);
    child.once("exit", (code, signal) => {
      this.why ??= code === null ? `was ended by ${signal}` : `ended with exit code ${code}`;
      const wait = setTimeout(() => this.#end(), lastOutputMs);
      child.once("close", () => {
        clearTimeout(wait);
        this.#end();
      });
    });
  }

  send(message: JSONRPCMessage): Promise<void> {
    const stdin = this.#child?.stdin;
    if (this.#ending !== null || stdin === null || stdin === undefined) {
      return Promise.reject(new Error(this.why ?? "is not running"));
    }
    // The server sends requests but never reads the responses.
    if (stdin.writableLength > limits.mcpMessageBytesMax) this.#end("does not read its input");
    return new Promise((resolve, reject) => {
      stdin.write(serializeMessage(message), (error) => (error == null ? resolve() : reject(error)));
    });
  }

  async close(): Promise<void> {
    await this.#end("was closed");
  }

  #readMessages({ stdout }: ChildProcess): void {
    const throttle = new ReadThrottle();
    stdout?.on("data", (chunk: Buffer) => {
      const lines = this.#lines.push(chunk);
      if (lines === null) return void this.#end(`sent a message of more than ${limits.mcpMessageBytesMax} bytes`);
      for (const line of lines) this.#deliver(line);
      pauseFor(stdout, throttle.spend(chunk.length, lines.length));
    });
    stdout?.on("error", () => false);
    stdout?.once("end", () => {
      // A process that ends by itself reports its exit code right after this.
      setTimeout(() => this.#end("closed its output"), lastOutputMs).unref();
    });
  }

  #deliver(line: string): void {
    // The process is ending, so its messages are no longer needed.
    if (this.#ending !== null) return;
    try {
      this.onmessage?.(withKnownParts(deserializeMessage(line)));
    } catch {
      this.onerror?.(new Error(`not a message of the protocol: ${line.slice(0, 200)}`));
      const id = answeredBy(line);
      const error = { code: internalError, message: "the response is not a message of the protocol" };
      if (id !== null) this.onmessage?.({ jsonrpc: "2.0", id, error });
    }
  }

  #readStderr({ stderr }: ChildProcess): void {
    const throttle = new ReadThrottle();
    const decoder = new StringDecoder("utf8");
    stderr?.on("data", (chunk: Buffer) => {
      this.#process.onStderr(decoder.write(chunk));
      pauseFor(stderr, throttle.spend(chunk.length, 0));
    });
    stderr?.on("error", () => false);
  }

  /** Ends the connection. Pending requests fail at once. Resolves when the process and its group are gone. */
  #end(why?: string): Promise<void> {
    if (this.#ending === null) {
      this.why ??= why ?? "ended";
      this.#ending = this.#endProcess();
      this.onclose?.();
    }
    return this.#ending;
  }

  async #endProcess(): Promise<void> {
    if (this.#child !== null) await endProcess(this.#child, `${markName}=${this.#mark}`);
    await this.#watch?.stop();
  }
}

/** Returns the id of the request that an invalid line seems to answer, so that its caller need not wait longer. Null if there is none. */
function answeredBy(line: string): number | null {
  try {
    const { id, method } = JSON.parse(line) as { id?: unknown; method?: unknown };
    return typeof id === "number" && method === undefined ? id : null;
  } catch {
    // The line is not JSON, or is null, which has no id.
    return null;
  }
}

function pauseFor(stream: { pause(): unknown; resume(): unknown }, ms: number): void {
  if (ms === 0) return;
  stream.pause();
  setTimeout(() => stream.resume(), ms);
}
