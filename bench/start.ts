/**
 * The start of a process: until the answer to `initialize`, beside an agent that only loads the official SDK on the same Node; and of short
 * commands. In the clone, and in a copy of it (`cp -r`, like a container image), whose files have other times.
 */
import { spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createAptove } from "../src/index.ts";
import { inTurn, median, medianRatio, type BenchRow, type Rounds } from "./rows.ts";
import { acpAgent } from "./subjects/acp-agent.ts";
import { processorMs, programFile, root, start, type Start } from "./subjects/programs.ts";

/** What `bin/aptove` uses of a clone, beside the packages. */
const copied = ["bin", "src", "web", "scripts", "docs", ".cache", "package.json", "package-lock.json"];
const startsPerRound = 3;
const commands = [["session", "list"], ["workspace", "list"], ["--version"]];

interface Startable {
  name: string;
  command: string;
  args: string[];
}

export async function benchStart({ rounds }: Rounds): Promise<BenchRow[]> {
  const folder = mkdtempSync(join(tmpdir(), "aptove-bench-"));
  try {
    const clone = join(root, "bin", "aptove");
    return [...(await agentRows(folder, rounds)), ...(await commandRows(folder, clone, rounds))];
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Copies the clone like `cp -r`. The packages are linked, because they take half a gigabyte. */
function copyClone(folder: string): string {
  const copy = join(folder, "copy");
  for (const name of copied) cpSync(join(root, name), join(copy, name), { recursive: true });
  symlinkSync(join(root, "node_modules"), join(copy, "node_modules"));
  return join(copy, "bin", "aptove");
}

async function agentRows(folder: string, rounds: number): Promise<BenchRow[]> {
  const sdk = {
    name: "an agent that only loads the SDK",
    command: process.execPath,
    args: [await programFile("sdk-agent")],
  };
  const clone = { name: "aptove acp in a clone", command: join(root, "bin", "aptove"), args: ["acp"] };
  const copy = { name: "aptove acp in a copied clone", command: copyClone(folder), args: ["acp"] };
  const all = [sdk, clone, copy];
  const initialize = new Map<Startable, number[]>(all.map((each) => [each, []]));
  const processor = new Map<Startable, number[]>(all.map((each) => [each, []]));
  const firstSession: number[] = [];
  // The first round compiles the code for the others.
  for (let round = 0; round <= rounds * startsPerRound; round += 1) {
    for (const each of inTurn(all, round)) {
      const took = await startOnce(each, join(folder, `data-${round}-${all.indexOf(each)}`), folder);
      if (round === 0) continue;
      initialize.get(each)?.push(took.initialize);
      processor.get(each)?.push(took.processor);
      if (each === clone) firstSession.push(took.session);
    }
  }
  const rowsOf = (what: string, figures: typeof initialize, bounds: { limit?: number; aim?: number }): BenchRow[] =>
    all.map((each) => {
      const times = figures.get(each) ?? [];
      const row = { name: `${what}, ${each.name}`, value: median(times), unit: "ms" };
      return each === sdk ? row : { ...row, ratio: medianRatio(times, figures.get(sdk) ?? []), ...bounds };
    });
  return [
    ...rowsOf("spawn to the answer to initialize", initialize, { limit: 2.2, aim: 1.8 }),
    ...rowsOf("processor time until then", processor, {}),
    { name: "first session/new, aptove acp in a clone", value: median(firstSession), unit: "ms", limit: 60 },
  ];
}

async function startOnce({ command, args }: Startable, dataDir: string, cwd: string) {
  const isOurs = args[0] === "acp";
  const env = {
    ...process.env,
    ...(!isOurs && { NODE_COMPILE_CACHE: join(cwd, "compiled") }),
    HOME: cwd,
    APTOVE_DATA_DIR: dataDir,
  };
  const setting: Start = { args, env, cwd };
  const startedAt = performance.now();
  const child = start(command, setting);
  const agent = acpAgent(child);
  await agent.initialize();
  const ready = performance.now();
  const processor = processorMs(child.pid ?? 0);
  if (isOurs) await agent.open(cwd);
  const opened = performance.now();
  await agent.end();
  return { initialize: ready - startedAt, processor, session: opened - ready };
}

async function commandRows(folder: string, command: string, rounds: number): Promise<BenchRow[]> {
  const dataDir = join(folder, "commands");
  await makeSessions(dataDir);
  const times = new Map<string, number[]>(commands.map((args) => [args.join(" "), []]));
  for (let round = 0; round <= rounds * startsPerRound; round += 1) {
    for (const args of inTurn(commands, round)) {
      const startedAt = performance.now();
      const env = { ...process.env, APTOVE_DATA_DIR: dataDir };
      const { status } = spawnSync(command, args, { cwd: folder, env, stdio: "ignore" });
      if (status !== 0) throw new Error(`aptove ${args.join(" ")} ended with ${status}`);
      if (round > 0) times.get(args.join(" "))?.push(performance.now() - startedAt);
    }
  }
  const limits: Record<string, number> = { "session list": 250, "workspace list": 200 };
  return [...times].map(([args, took]) => {
    const limit = limits[args];
    return {
      name: `aptove ${args} from a cold start`,
      value: median(took),
      unit: "ms",
      ...(limit !== undefined && { limit }),
    };
  });
}

async function makeSessions(dataDir: string): Promise<void> {
  const { engine } = await createAptove({ dataDir, env: {} });
  const owner = await engine.keys.owner();
  for (let session = 0; session < 20; session += 1) {
    const running = await engine.turns.run(owner, { instruction: `question ${session}` });
    await running.finished;
  }
  await engine.close();
}
