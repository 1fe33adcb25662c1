/**
 * The resources that a turn uses on a server and in its stores, for sizing (docs/sizing.md): processor time, store calls, rows and
 * bytes. The provider answers at once, in 25 pieces; eight sessions run side by side.
 */
import { mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createAptove, type Aptove, type AptoveOptions, type Observer } from "../src/index.ts";
import { startPostgres } from "../testing/postgres.ts";
import { instantProvider, text400 } from "./instant-provider.ts";
import type { BenchRow } from "./rows.ts";

const warmTurns = 80;
const turnsTotal = 400;
const sessionsTotal = 8;
const stores = ["records", "blobs", "live"] as const;

export async function benchSizing(): Promise<BenchRow[]> {
  const embedded = await measure("SQLite and files", { overrides: { blobs: { store: "files" } } });
  const postgres = await startPostgres();
  try {
    return [...embedded, ...(await measure("PostgreSQL", { overrides: { records: { url: postgres.url } } }))];
  } finally {
    await postgres.stop();
  }
}

async function measure(name: string, options: AptoveOptions): Promise<BenchRow[]> {
  const dataDir = mkdtempSync(join(tmpdir(), "aptove-bench-"));
  const calls = new Map<string, number>();
  const observer: Partial<Observer> = {
    storeCall: ({ store }) => {
      calls.set(store, (calls.get(store) ?? 0) + 1);
      return { within: (work) => work(), end: () => undefined };
    },
  };
  const aptove = await createAptove({
    ...options,
    dataDir,
    env: {},
    observer,
    providers: [instantProvider()],
    agentContexts: [{ id: "default", name: "Default", provider: "instant", index: "local" }],
  });
  try {
    const heads = new Map<number, string>();
    await ask(aptove, heads, warmTurns);
    calls.clear();
    const before = sizes(dataDir);
    const cpu = process.cpuUsage();
    await ask(aptove, heads, turnsTotal);
    const { user, system } = process.cpuUsage(cpu);
    const after = sizes(dataDir);
    const perTurn = (value: number): number => value / turnsTotal;
    return [
      { name: `${name}: processor time per turn`, value: perTurn((user + system) / 1_000), unit: "ms" },
      ...stores.map((store) => {
        return { name: `${name}: calls of the ${store} per turn`, value: perTurn(calls.get(store) ?? 0), unit: "" };
      }),
      { name: `${name}: blobs per turn`, value: perTurn(after.files - before.files), unit: "files" },
      { name: `${name}: bytes of blobs per turn`, value: perTurn(after.bytes - before.bytes), unit: "B" },
      { name: `${name}: memory of the process`, value: process.memoryUsage.rss() / 1_000_000, unit: "MB" },
    ];
  } finally {
    await aptove.engine.close({ graceMs: 0 });
    rmSync(dataDir, { recursive: true, force: true });
  }
}

/** Continues the sessions in parallel. Creates them if there are none. */
async function ask({ engine }: Aptove, sessions: Map<number, string>, count: number): Promise<void> {
  const owner = await engine.keys.owner();
  const lane = async (number: number): Promise<void> => {
    for (let turn = number; turn < count; turn += sessionsTotal) {
      const sessionId = sessions.get(number);
      const request = {
        instruction: text400(`${number} ${turn}`),
        repo: null,
        ...(sessionId !== undefined && { sessionId }),
      };
      const running = await engine.turns.run(owner, request);
      sessions.set(number, running.sessionId);
      await running.finished;
    }
  };
  await Promise.all(Array.from({ length: sessionsTotal }, (_, number) => lane(number)));
}

function sizes(dataDir: string): { files: number; bytes: number } {
  const found = readdirSync(join(dataDir, "blobs"), { recursive: true, withFileTypes: true });
  const files = found.filter((entry) => entry.isFile());
  return {
    files: files.length,
    bytes: files.reduce((sum, { parentPath, name }) => sum + statSync(join(parentPath, name)).size, 0),
  };
}
