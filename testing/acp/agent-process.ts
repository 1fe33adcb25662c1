/** `aptove acp` in a process of its own, and what it writes: for what only a process can show. */
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import type { TestContext } from "node:test";
import { fileURLToPath } from "node:url";
import { WireCheck } from "./schema-check.ts";

export interface AgentProcess {
  /** Rejects with the error of the answer. */
  ask(method: string, params: object): Promise<Record<string, unknown>>;
  tell(method: string, params: object): void;
  /** Updates, and what the agent asks, in order. */
  readonly heard: readonly Record<string, unknown>[];
  /** Resolves when a message of the agent holds. */
  until(holds: (message: Record<string, unknown>) => boolean): Promise<void>;
  /** What is wrong with its messages. */
  readonly faults: readonly string[];
  kill(): void;
  /** Closes its input. */
  endInput(): void;
  readonly ended: Promise<{ code: number | null; signal: NodeJS.Signals | null; stderr: string }>;
}

const bin = fileURLToPath(new URL("../../bin/aptove", import.meta.url));

export function startAgentProcess(
  context: TestContext,
  { dataDir, args = [] }: { dataDir: string; args?: string[] },
): AgentProcess {
  const { PATH = "" } = process.env;
  const child = spawn(bin, ["acp", ...args], { env: { PATH, HOME: dataDir, APTOVE_DATA_DIR: dataDir } });
  context.after(() => child.kill("SIGKILL"));
  const wire = new WireCheck();
  const [heard, faults]: [Record<string, unknown>[], string[]] = [[], []];
  const answers = new Map<number, PromiseWithResolvers<Record<string, unknown>>>();
  const waiting: { holds: (message: Record<string, unknown>) => boolean; done: () => void }[] = [];
  let stderr = "";
  let asked = 0;
  child.stderr.setEncoding("utf8").on("data", (text: string) => (stderr += text));
  const ended = new Promise<{ code: number | null; signal: NodeJS.Signals | null; stderr: string }>((resolve) => {
    child.once("close", (code, signal) => resolve({ code, signal, stderr }));
  });
  createInterface({ input: child.stdout }).on("line", (line) => {
    const message = JSON.parse(line) as Record<string, unknown>;
    const fault = wire.see(message, "agent");
    if (fault !== null) faults.push(fault);
    const answer = "method" in message ? undefined : answers.get(Number(message["id"]));
    if (answer === undefined) heard.push(message);
    else if (message["error"] !== undefined) answer.reject(message["error"]);
    else answer.resolve(message["result"] as Record<string, unknown>);
    for (const { holds, done } of waiting) if (holds(message)) done();
  });
  // Whoever kills it is not told by its input.
  child.stdin.on("error", () => undefined);
  const send = (message: object): void => {
    const whole = { jsonrpc: "2.0", ...message };
    wire.see(whole, "client");
    child.stdin.write(`${JSON.stringify(whole)}\n`);
  };
  return {
    heard,
    faults,
    ended,
    ask: async (method, params) => {
      const answer = Promise.withResolvers<Record<string, unknown>>();
      asked += 1;
      answers.set(asked, answer);
      send({ id: asked, method, params });
      return await answer.promise;
    },
    tell: (method, params) => send({ method, params }),
    until: async (holds) => {
      if (!heard.some(holds)) await new Promise<void>((done) => waiting.push({ holds, done }));
    },
    kill: () => child.kill("SIGKILL"),
    endInput: () => child.stdin.end(),
  };
}
