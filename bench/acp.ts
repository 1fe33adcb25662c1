/**
 * The cost of the ACP agent without the provider, measured by a minimal client over stdio: start, first session, prompts at
 * the beginning of a conversation and after a thousand turns, memory. The provider is a separate process, on the
 * real wire, that answers at once; its own time is subtracted.
 */
import { spawn, spawnSync, type ChildProcess } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { buffer } from "node:stream/consumers";
import { text400 } from "./instant-provider.ts";
import { median, type BenchRow } from "./rows.ts";

const command = join(import.meta.dirname, "..", "bin", "aptove");
const starts = 11;
const turnsTotal = 1_000;
const window = 16;

interface Surroundings {
  folder: string;
  project: string;
  env: Record<string, string>;
  provider: Provider;
}

export async function benchAcp(): Promise<BenchRow[]> {
  const folder = mkdtempSync(join(tmpdir(), "aptove-bench-"));
  const project = join(folder, "project");
  mkdirSync(project);
  const provider = await startProvider();
  const env = { ...process.env, HOME: folder, OPENAI_API_KEY: "sk-bench-0123456789", OPENAI_BASE_URL: provider.url };
  const surroundings = { folder, project, provider, env: env as Record<string, string> };
  try {
    return [...(await startRows(surroundings)), ...(await promptRows(surroundings)), workspaceRow(surroundings)];
  } finally {
    provider.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Measures starts, each in a new data folder, like the first start on a machine. The compiled code already exists. */
async function startRows(at: Surroundings): Promise<BenchRow[]> {
  const initialize: number[] = [];
  const newSession: number[] = [];
  for (let run = 0; run <= starts; run += 1) {
    const startedAt = performance.now();
    const agent = startAgent(at, `start-${run}`);
    await agent.initialize();
    const ready = performance.now();
    await agent.request("session/new", { cwd: at.project, mcpServers: [] });
    // The first start compiles the code for the others.
    if (run > 0) {
      initialize.push(ready - startedAt);
      newSession.push(performance.now() - ready);
    }
    await agent.end();
  }
  return [
    { name: "spawn to the answer to initialize", value: median(initialize), unit: "ms", limit: 200 },
    { name: "first session/new", value: median(newSession), unit: "ms", limit: 60 },
  ];
}

/**
 * One process has a session of a thousand turns and then a second one, so that turn 10 of a warm process is distinguished
 * from the first prompts of a new one, whose code V8 has not compiled yet.
 */
async function promptRows(at: Surroundings): Promise<BenchRow[]> {
  const agent = startAgent(at, "prompts");
  await agent.initialize();
  const long = await openSession(agent, at);
  const first = await prompts(agent, at, { sessionId: long, turns: 20 });
  const memory = residentBytes(agent.pid);
  const later = await prompts(agent, at, { sessionId: long, turns: turnsTotal - 20 });
  const second = await prompts(agent, at, { sessionId: await openSession(agent, at), turns: 20 });
  await agent.end();
  const row = (which: string, values: readonly number[], turn: number): BenchRow => ({
    name: `${which} prompt over the provider's time at turn ${turn.toLocaleString("en")}`,
    value: median(around(values, turn)),
    unit: "ms",
  });
  return [
    { ...row("warm", second, 10), limit: 5 },
    { ...row("warm", [...first, ...later], turnsTotal), limit: 10 },
    row("a new process's", first, 10),
    { name: "resident memory after 20 turns", value: memory / 1e6, unit: "MB", limit: 130 },
  ];
}

async function openSession(agent: Agent, at: Surroundings): Promise<string> {
  const session = (await agent.request("session/new", { cwd: at.project, mcpServers: [] })) as { sessionId: string };
  return session.sessionId;
}

/** Returns the time of each prompt without its provider, in milliseconds. */
async function prompts(
  agent: Agent,
  at: Surroundings,
  { sessionId, turns }: { sessionId: string; turns: number },
): Promise<number[]> {
  const over: number[] = [];
  for (let turn = 1; turn <= turns; turn += 1) {
    const startedAt = performance.now();
    const prompt = [{ type: "text", text: text400(`instruction ${turn}`) }];
    const { stopReason } = (await agent.request("session/prompt", { sessionId, prompt })) as { stopReason: string };
    over.push(performance.now() - startedAt - at.provider.lastMs());
    if (stopReason !== "end_turn") throw new Error(`turn ${turn} ended ${stopReason}`);
  }
  return over;
}

function around(values: readonly number[], turn: number): number[] {
  const from = Math.max(1, Math.min(turn - window / 2, values.length - window));
  return values.slice(from, from + window);
}

function workspaceRow({ env, folder }: Surroundings): BenchRow {
  const times: number[] = [];
  for (let run = 0; run <= starts; run += 1) {
    const startedAt = performance.now();
    const { status } = spawnSync(command, ["workspace", "list"], {
      cwd: folder,
      env: { ...env, APTOVE_DATA_DIR: join(folder, "prompts") },
      stdio: "ignore",
    });
    if (status !== 0) throw new Error(`aptove workspace list ended with ${status}`);
    if (run > 0) times.push(performance.now() - startedAt);
  }
  return { name: "aptove workspace list from a cold start", value: median(times), unit: "ms", limit: 200 };
}

interface Agent {
  pid: number;
  initialize(): Promise<void>;
  request(method: string, params: unknown): Promise<unknown>;
  end(): Promise<void>;
}

function startAgent({ env, folder, project }: Surroundings, name: string): Agent {
  const child = spawn(command, ["acp"], {
    cwd: project,
    env: { ...env, APTOVE_DATA_DIR: join(folder, name) },
    stdio: ["pipe", "pipe", "inherit"],
  });
  const waiting = new Map<number, PromiseWithResolvers<unknown>>();
  createInterface({ input: child.stdout }).on("line", (line) => {
    const message = JSON.parse(line) as { id?: number; result?: unknown; error?: unknown };
    const asked = waiting.get(message.id ?? -1);
    if (asked === undefined) return;
    if (message.error === undefined) asked.resolve(message.result);
    else asked.reject(new Error(JSON.stringify(message.error)));
  });
  let last = 0;
  const request = async (method: string, params: unknown): Promise<unknown> => {
    last += 1;
    const asked = Promise.withResolvers<unknown>();
    waiting.set(last, asked);
    child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id: last, method, params })}\n`);
    return await asked.promise;
  };
  return {
    pid: child.pid ?? 0,
    initialize: async () => void (await request("initialize", { protocolVersion: 1, clientCapabilities: {} })),
    request,
    end: () => ended(child),
  };
}

function ended(child: ChildProcess): Promise<void> {
  const closed = new Promise<void>((resolve) => child.once("close", () => resolve()));
  child.stdin?.end();
  return closed;
}

/** Returns the memory of the process and of all that it started. */
function residentBytes(pid: number): number {
  const own = Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? 0) * 1_024;
  const children = readdirSync(`/proc/${pid}/task`).flatMap((task) =>
    readFileSync(`/proc/${pid}/task/${task}/children`, "utf8").trim().split(" ").filter(Boolean),
  );
  return children.reduce((sum, child) => sum + residentBytes(Number(child)), own);
}

interface Provider {
  url: string;
  /** The provider's time, from the last byte of the last request to the last byte of its answer. */
  lastMs(): number;
  close(): void;
}

/** A provider on OpenAI's wire that sends five tokens at once. */
async function startProvider(): Promise<Provider> {
  let answers = 0;
  let took = 0;
  const server = createServer(async (incoming, outgoing) => {
    await buffer(incoming);
    const startedAt = performance.now();
    answers += 1;
    outgoing.writeHead(200, { "content-type": "text/event-stream" });
    outgoing.end(answerStream(answers));
    took = performance.now() - startedAt;
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    lastMs: () => took,
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

function answerStream(n: number): string {
  const [responseId, itemId] = [`resp_${n}`, `msg_${n}`];
  const tokens = ["one ", "two ", "three ", "four ", "five"];
  const text = tokens.join("");
  const part = { type: "output_text", text, annotations: [] };
  const item = { id: itemId, type: "message", role: "assistant", status: "completed", content: [part] };
  const response = { id: responseId, object: "response", model: "gpt-5.1", status: "completed", output: [item] };
  const at = { item_id: itemId, output_index: 0, content_index: 0 };
  const usage = {
    input_tokens: 100,
    output_tokens: 5,
    total_tokens: 105,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens_details: { reasoning_tokens: 0 },
  };
  const events = [
    { type: "response.created", response: { ...response, status: "in_progress", output: [] } },
    { type: "response.output_item.added", output_index: 0, item: { ...item, status: "in_progress", content: [] } },
    { type: "response.content_part.added", ...at, part: { ...part, text: "" } },
    ...tokens.map((delta) => ({ type: "response.output_text.delta", ...at, delta })),
    { type: "response.output_text.done", ...at, text },
    { type: "response.content_part.done", ...at, part },
    { type: "response.output_item.done", output_index: 0, item },
    { type: "response.completed", response: { ...response, usage } },
  ];
  return events
    .map((event, sequence_number) => `event: ${event.type}\ndata: ${JSON.stringify({ ...event, sequence_number })}\n\n`)
    .join("");
}
