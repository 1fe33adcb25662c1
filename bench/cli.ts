/** The time of a command in a new process with its own engine, without a server. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createAptove } from "../src/index.ts";
import { median, type BenchRow } from "./rows.ts";

const root = join(import.meta.dirname, "..");
const runs = 15;

export async function benchCli(): Promise<BenchRow[]> {
  const dataDir = mkdtempSync(join(tmpdir(), "aptove-bench-"));
  try {
    await makeSessions(dataDir);
    const command = { cwd: tmpdir(), env: { ...process.env, APTOVE_DATA_DIR: dataDir }, stdio: "ignore" } as const;
    return [
      {
        name: "aptove session list from a cold start",
        value: timed(["session", "list"], command),
        unit: "ms",
        limit: 250,
      },
      { name: "aptove --version, for scale", value: timed(["--version"], command), unit: "ms" },
    ];
  } finally {
    rmSync(dataDir, { recursive: true, force: true });
  }
}

async function makeSessions(dataDir: string): Promise<void> {
  const { engine } = await createAptove({ dataDir, env: {} });
  const owner = await engine.keys.owner();
  for (let session = 0; session < 20; session += 1) {
    await (
      await engine.turns.run(owner, { instruction: `question ${session}` })
    ).finished;
  }
  await engine.close();
}

function timed(args: string[], options: Parameters<typeof spawnSync>[2]): number {
  const times: number[] = [];
  for (let run = 0; run < runs; run += 1) {
    const startedAt = performance.now();
    const { status } = spawnSync(join(root, "bin", "aptove"), args, options);
    times.push(performance.now() - startedAt);
    if (status !== 0) throw new Error(`aptove ${args.join(" ")} ended with ${status}`);
  }
  return median(times);
}
