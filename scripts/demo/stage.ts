/** The demo's environment: a small repository, a fake provider on the real wire, and the program as a person runs it. */
import { execFileSync, spawn, type ChildProcess } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { once } from "node:events";
import { createClient, type AptoveClient } from "../../src/client/client.ts";
import { startFakeAnthropic, type FakeAnthropic } from "../../testing/fake-anthropic/fake-anthropic.ts";
import { startFakeOpenai, type FakeOpenAI } from "../../testing/fake-openai/fake-openai.ts";

export interface Stage {
  repo: string;
  dataDir: string;
  fake: FakeOpenAI;
  anthropic: FakeAnthropic;
  env: NodeJS.ProcessEnv;
}

/** The name of the repository: the host and the path of its origin. Nothing is ever fetched from there. */
export const repoName = "git.example.org/demo/shop";

const root = dirname(dirname(import.meta.dirname));
export const bin = join(root, "bin", "aptove.mjs");

export async function setStage(): Promise<Stage> {
  const folder = mkdtempSync(join(tmpdir(), "aptove-demo-"));
  const repo = join(folder, "shop");
  for (const [path, text] of Object.entries(files)) write(join(repo, path), text);
  for (const args of [
    ["init", "-q"],
    ["remote", "add", "origin", `https://${repoName}.git`],
    ["add", "."],
    [...author, "commit", "-qm", "A shop"],
  ]) {
    execFileSync("git", args, { cwd: repo });
  }
  const fake = await startFakeOpenai({ apiKey: "demo-key", eventDelayMs: 4 });
  const anthropic = await startFakeAnthropic({ apiKey: "demo-key-2", eventDelayMs: 4 });
  const dataDir = join(folder, "data");
  write(join(dataDir, "config.toml"), configuration(anthropic.url));
  const { PATH, HOME, TERM, NO_COLOR } = process.env;
  const surroundings = { PATH, HOME, TERM, NO_COLOR, FORCE_COLOR: process.stdout.isTTY ? "1" : undefined };
  const provider = { OPENAI_API_KEY: "demo-key", OPENAI_BASE_URL: fake.url, APTOVE_MODEL: "gpt-5.1" };
  return { repo, dataDir, fake, anthropic, env: { ...surroundings, ...provider, APTOVE_DATA_DIR: dataDir } };
}

/** The configuration of two agents: the default one uses OpenAI by the environment, the other one Anthropic. */
function configuration(anthropicUrl: string): string {
  return `[agent_contexts.default]
provider = "openai"

[agent_contexts.claude]
provider = "anthropic"

[providers.anthropic]
api_key = "demo-key-2"
base_url = "${anthropicUrl}"
model = "claude-sonnet-5"
`;
}

const author = ["-c", "user.name=demo", "-c", "user.email=demo@example.org"];

const files: Record<string, string> = {
  "src/cart.ts": `/** A cart and what is in it. */
export interface Cart {
  items: { sku: string; cents: number; count: number }[];
}

/** Sum of a cart in cents, before discounts. */
export function cartTotal(cart: Cart): number {
  return cart.items.reduce((sum, item) => sum + item.cents * item.count, 0);
}
`,
  "src/discount.ts": `import { cartTotal, type Cart } from "./cart.ts";

/** Ten per cent off from 100.00 on. */
export function discount(cart: Cart): number {
  const total = cartTotal(cart);
  return total > 100_00 ? Math.round(total / 10) : 0;
}
`,
  "src/checkout.ts": `import { cartTotal, type Cart } from "./cart.ts";
import { discount } from "./discount.ts";

/** What the customer pays, in cents. */
export function amountDue(cart: Cart): number {
  return cartTotal(cart) - discount(cart);
}
`,
  "README.md": "# Shop\n\nA cart, a discount, a checkout.\n",
};

function write(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text, { mode: 0o600 });
}

export function change(stage: Stage, path: string, [from, to]: [string, string]): void {
  const text = readFileSync(join(stage.repo, path), "utf8");
  writeFileSync(join(stage.repo, path), text.replace(from, to));
}

export function clear(stage: Stage): void {
  rmSync(dirname(stage.repo), { recursive: true, force: true });
}

export interface Ran {
  code: number | null;
  stdout: string;
  stderr: string;
}

/** Runs the command in the repository, as a person would. */
export async function aptove(
  stage: Stage,
  args: string[],
  { input, onStart }: { input?: string; onStart?: (child: ChildProcess) => void } = {},
): Promise<Ran> {
  const child = spawn(process.execPath, [bin, ...args], {
    cwd: stage.repo,
    env: stage.env,
    stdio: [input === undefined ? "ignore" : "pipe", "pipe", "pipe"],
  });
  child.stdin?.end(input);
  onStart?.(child);
  const ran: Ran = { code: null, stdout: "", stderr: "" };
  child.stdout?.setEncoding("utf8").on("data", (text: string) => (ran.stdout += text));
  child.stderr?.setEncoding("utf8").on("data", (text: string) => (ran.stderr += text));
  const [code] = (await once(child, "close")) as [number | null];
  return { ...ran, code };
}

export interface Server {
  pid: number;
  url: string;
  client: AptoveClient;
  /** Kills the server with SIGKILL. */
  kill(): Promise<void>;
  stop(): Promise<void>;
}

/** Starts the server and waits until it reports its address. */
export async function serve(stage: Stage): Promise<Server> {
  const child = spawn(process.execPath, [bin, "serve", "--port", "0", "--json"], {
    cwd: stage.repo,
    env: stage.env,
    stdio: ["ignore", "pipe", "inherit"],
  });
  const closed = once(child, "close");
  const [line] = (await Promise.race([once(child.stdout, "data"), closed])) as [Buffer];
  const { pid, url } = JSON.parse(line.toString()) as { pid: number; url: string };
  const { key } = JSON.parse(readFileSync(join(stage.dataDir, "server.json"), "utf8")) as { key: string };
  const end = async (signal: NodeJS.Signals): Promise<void> => {
    process.kill(pid, signal);
    await closed;
  };
  return { pid, url, client: createClient({ url, key }), kill: () => end("SIGKILL"), stop: () => end("SIGTERM") };
}
