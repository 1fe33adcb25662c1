/**
 * How long an event takes from the model on one server to a listener on another: through PostgreSQL, and through Redis
 * before it. Servers and listeners are processes of this machine, so there is no network; PostgreSQL syncs its commits
 * to the disk of this machine.
 */
import { spawn, type ChildProcess } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { createClient, type AptoveClient } from "../src/client/client.ts";
import { startPostgres } from "../testing/postgres.ts";
import { missingPackages } from "../testing/servers/programs.ts";
import { startRedis } from "../testing/servers/redis.ts";
import { percentile, type BenchRow } from "./rows.ts";

const tokens = 50;
const tokenMs = 20;

interface Server {
  client: AptoveClient;
  child: ChildProcess;
}

export async function benchLive(): Promise<BenchRow[]> {
  const dataDir = mkdtempSync(join(tmpdir(), "aptove-bench-"));
  const postgres = await startPostgres({ isDurable: true });
  const redis = missingPackages(["redis-server"]).length === 0 ? await startRedis() : null;
  try {
    const records = { url: postgres.url };
    const rows = await rowsOf("PostgreSQL", dataDir, { records });
    if (redis !== null) return [...rows, ...(await rowsOf("Redis", dataDir, { records, live: { redis: redis.url } }))];
    const note = "Redis is not installed: apt-get install redis-server";
    return [...rows, { name: "event to another server, Redis", value: Number.NaN, unit: "ms", note }];
  } finally {
    await Promise.all([postgres.stop(), redis?.stop()]);
    rmSync(dataDir, { recursive: true, force: true });
  }
}

async function startServer(dataDir: string, overrides: Record<string, unknown>): Promise<Server> {
  const script = join(import.meta.dirname, "streaming-server.ts");
  const args = [script, dataDir, String(tokens), String(tokenMs), JSON.stringify(overrides)];
  const child = spawn(process.execPath, args, { stdio: ["pipe", "pipe", "inherit"] });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return { client: createClient(JSON.parse((await lines.next()).value as string)), child };
}

async function rowsOf(name: string, dataDir: string, overrides: Record<string, unknown>): Promise<BenchRow[]> {
  const runner = await startServer(dataDir, overrides);
  const other = await startServer(dataDir, overrides);
  const rows: BenchRow[] = [];
  try {
    await listen(runner, other);
    for (const sessions of [1, 32]) {
      const ways = (await Promise.all(Array.from({ length: sessions }, () => listen(runner, other)))).flat();
      const what = `event to another server, ${name}, ${sessions === 1 ? "1 session" : `${sessions} sessions`}`;
      rows.push(
        { name: `${what}: median`, value: percentile(ways, 50), unit: "ms" },
        { name: `${what}: 95th percentile`, value: percentile(ways, 95), unit: "ms" },
      );
    }
    return rows;
  } finally {
    for (const { child } of [runner, other]) child.kill("SIGKILL");
  }
}

/** Returns the delay of each token in milliseconds, for tokens that left while the listener was connected. A token is its send time in microseconds. */
async function listen(runner: Server, other: Server): Promise<number[]> {
  const { turnId } = await runner.client.start({ instruction: "go" });
  const ways: number[] = [];
  let received = 0;
  let sinceUs: number | null = null;
  for await (const { event } of other.client.events(turnId)) {
    if (event.type !== "TEXT_MESSAGE_CONTENT") continue;
    const nowUs = (performance.timeOrigin + performance.now()) * 1_000;
    received += 1;
    sinceUs ??= nowUs;
    const leftUs = Number(event.delta);
    if (leftUs > sinceUs) ways.push((nowUs - leftUs) / 1_000);
  }
  if (received !== tokens) throw new Error(`${received} of ${tokens} tokens were received`);
  return ways;
}
