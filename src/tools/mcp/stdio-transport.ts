/**
 * A server that is a process of ours, spoken to by its standard input and output (P5). In place of the library's own:
 * here the server heads a group of processes that ends with it, its messages are bounded in length and in number, and
 * what it writes to its standard error is taken at the same pace.
 */
import type { ChildProcess } from "node:child_process";
import { StringDecoder } from "node:string_decoder";
import {
  deserializeMessage,
  type JSONRPCMessage,
  serializeMessage,
  type Transport,
} from "@modelcontextprotocol/client";
import spawn from "cross-spawn";
import { limits } from "../../domain/limits.ts";
import { startedPid } from "../../system/processes.ts";
import { endProcess } from "./end-process.ts";
import { MessageLines } from "./message-lines.ts";
import { Pace } from "./pace.ts";

export interface ServerProcess {
  command: string;
  args: readonly string[];
  /** All of its environment. */
  env: Record<string, string>;
  /** Absolute; null: where this process is. */
  cwd: string | null;
  onStderr(text: string): void;
}

/** The code of JSON-RPC for a fault of whoever answers. */
const internalError = -32_603;

/** How long what a process said before its end is waited for: something that it started may hold its output open. */
const lastWordsMs = 250;

export class StdioTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;
  /** By these two the library knows that this is no HTTP. */
  readonly stderr = null;
  pid: number | null = null;
  /** Why it ended, in words that go on after "it"; null: it has not. */
  why: string | null = null;
  readonly #process: ServerProcess;
  readonly #lines = new MessageLines();
  #child: ChildProcess | null = null;
  #ending: Promise<void> | null = null;

  constructor(process: ServerProcess) {
    this.#process = process;
  }

  /** Rejects with the system's error where there is no such command. */
  async start(): Promise<void> {
    const { command, args, env, cwd } = this.#process;
    const child = spawn(command, args, {
      env,
      ...(cwd !== null && { cwd }),
      stdio: ["pipe", "pipe", "pipe"],
      detached: process.platform !== "win32",
      windowsHide: true,
    });
    this.#child = child;
    this.pid = await startedPid(child);
    child.on("error", (error) => this.onerror?.(error));
    // What cannot be written is told by the end of the process.
    child.stdin?.on("error", () => false);
    this.#readMessages(child);
    this.#readStderr(child);
    child.once("exit", (code, signal) => {
      this.why ??= code === null ? `was ended by ${signal}` : `ended with exit code ${code}`;
      const wait = setTimeout(() => this.#end(), lastWordsMs);
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
    // It asks and never reads what it is told.
    if (stdin.writableLength > limits.mcpMessageBytesMax) this.#end("does not read what it is sent");
    return new Promise((resolve, reject) => {
      stdin.write(serializeMessage(message), (error) => (error == null ? resolve() : reject(error)));
    });
  }

  async close(): Promise<void> {
    await this.#end("was closed");
  }

  #readMessages({ stdout }: ChildProcess): void {
    const pace = new Pace();
    stdout?.on("data", (chunk: Buffer) => {
      const lines = this.#lines.push(chunk);
      if (lines === null) return void this.#end(`sent a message of more than ${limits.mcpMessageBytesMax} bytes`);
      for (const line of lines) this.#deliver(line);
      pauseFor(stdout, pace.spend(chunk.length, lines.length));
    });
    stdout?.on("error", () => false);
    stdout?.once("end", () => {
      // A process that ends by itself says how, right after this.
      setTimeout(() => this.#end("closed its output"), lastWordsMs).unref();
    });
  }

  #deliver(line: string): void {
    // It is ending: nobody waits for what it says.
    if (this.#ending !== null) return;
    try {
      this.onmessage?.(deserializeMessage(line));
    } catch {
      this.onerror?.(new Error(`not a message of the protocol: ${line.slice(0, 200)}`));
      const id = answeredBy(line);
      const error = { code: internalError, message: "the answer is not a message of the protocol" };
      if (id !== null) this.onmessage?.({ jsonrpc: "2.0", id, error });
    }
  }

  #readStderr({ stderr }: ChildProcess): void {
    const pace = new Pace();
    const decoder = new StringDecoder("utf8");
    stderr?.on("data", (chunk: Buffer) => {
      this.#process.onStderr(decoder.write(chunk));
      pauseFor(stderr, pace.spend(chunk.length, 0));
    });
    stderr?.on("error", () => false);
  }

  /** Whoever waits for an answer hears of it at once. Resolves when the process and its group are gone. */
  #end(why?: string): Promise<void> {
    if (this.#ending === null) {
      this.why ??= why ?? "ended";
      this.#ending = this.#child === null ? Promise.resolve() : endProcess(this.#child);
      this.onclose?.();
    }
    return this.#ending;
  }
}

/** The id of a request that a line means to answer, however wrongly: whoever waits for it need not wait for longer. */
function answeredBy(line: string): number | null {
  try {
    const { id, method } = JSON.parse(line) as { id?: unknown; method?: unknown };
    return typeof id === "number" && method === undefined ? id : null;
  } catch {
    // It answers nothing; null has no id either.
    return null;
  }
}

function pauseFor(stream: { pause(): unknown; resume(): unknown }, ms: number): void {
  if (ms === 0) return;
  stream.pause();
  setTimeout(() => stream.resume(), ms);
}
