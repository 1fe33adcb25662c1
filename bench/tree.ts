/** The cost of branching: fork, the set-up of a rerun and a head move, at growing depths of one conversation (K1). */
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "better-sqlite3";
import { createAptove, type Aptove, type Caller } from "../src/index.ts";
import { instantProvider, text400 } from "./instant-provider.ts";
import { median, type BenchRow } from "./rows.ts";

const depths = [10, 100, 1_000, 10_000];
const runs = 25;

interface Marks {
  fork: number;
  rerun: number;
  move: number;
  forkBytes: number;
}

export async function benchTree(): Promise<BenchRow[]> {
  const dataDir = mkdtempSync(join(tmpdir(), "aptove-bench-"));
  const aptove = await createAptove({
    dataDir,
    env: {},
    providers: [instantProvider({ tokens: 4 })],
    agentContexts: [{ id: "default", name: "Default", provider: "instant", index: "local" }],
  });
  try {
    const caller = await aptove.engine.keys.owner();
    const marks = await measure(aptove, caller, dataDir);
    return [
      ...rows("fork", marks, "fork"),
      ...rows("rerun set-up", marks, "rerun"),
      ...rows("head move", marks, "move"),
      ...bytes(marks),
    ];
  } finally {
    await aptove.engine.close();
    rmSync(dataDir, { recursive: true, force: true });
  }
}

async function measure({ engine }: Aptove, caller: Caller, dataDir: string): Promise<Map<number, Marks>> {
  const marks = new Map<number, Marks>();
  let sessionId: string | undefined;
  let head = "";
  for (let depth = 1; depth <= (depths.at(-1) ?? 0); depth += 1) {
    const running = await engine.turns.run(caller, {
      instruction: text400(`turn ${depth}`),
      ...(sessionId !== undefined && { sessionId }),
    });
    await running.finished;
    ({ sessionId } = running);
    head = running.turnId;
    if (depths.includes(depth))
      marks.set(depth, await measureAt({ engine } as Aptove, caller, { sessionId, head, dataDir }));
  }
  return marks;
}

interface Place {
  sessionId: string;
  head: string;
  dataDir: string;
}

async function measureAt({ engine }: Aptove, caller: Caller, { sessionId, head, dataDir }: Place): Promise<Marks> {
  const parent = (await engine.turns.get(caller, head)).parentId ?? "";
  const before = databaseBytes(dataDir);
  const fork = await timed(() => engine.sessions.create(caller, { forkOf: head }));
  const forkBytes = (databaseBytes(dataDir) - before) / runs;
  const move: number[] = [];
  for (let run = 0; run < runs; run += 1) {
    move.push(...(await timed(() => engine.tree.moveHead(caller, { sessionId, from: head, to: parent }), 1)));
    await engine.tree.moveHead(caller, { sessionId, from: parent, to: head });
  }
  const rerun: number[] = [];
  for (let run = 0; run < runs; run += 1) {
    const startedAt = performance.now();
    // The turn is not the head, so the conversation stays unchanged.
    const running = await engine.turns.run(caller, { instruction: "", rerun: { turnId: parent } });
    rerun.push(performance.now() - startedAt);
    await running.finished;
  }
  return { fork: median(fork), move: median(move), rerun: median(rerun), forkBytes };
}

async function timed(run: () => Promise<unknown>, times = runs): Promise<number[]> {
  const measured: number[] = [];
  for (let time = 0; time < times; time += 1) {
    const startedAt = performance.now();
    await run();
    measured.push(performance.now() - startedAt);
  }
  return measured;
}

function databaseBytes(dataDir: string): number {
  const file = join(dataDir, "records.db");
  const database = new Database(file);
  database.pragma("wal_checkpoint(TRUNCATE)");
  database.close();
  return statSync(file).size;
}

function rows(name: string, marks: Map<number, Marks>, key: "fork" | "rerun" | "move"): BenchRow[] {
  const at = (depth: number): number => marks.get(depth)?.[key] ?? Number.NaN;
  return [
    ...depths.map((depth): BenchRow => ({
      name: `${name} at turn ${depth.toLocaleString("en")}`,
      value: at(depth),
      unit: "ms",
      limit: 10,
    })),
    {
      name: `${name}: at 10,000 over the median of all`,
      value: at(10_000) / median(depths.map(at)),
      unit: "x",
      limit: 1.5,
    },
  ];
}

function bytes(marks: Map<number, Marks>): BenchRow[] {
  return depths.map((depth) => ({
    name: `bytes of a fork at turn ${depth.toLocaleString("en")}`,
    value: marks.get(depth)?.forkBytes ?? Number.NaN,
    unit: "B",
    limit: 4_096,
  }));
}
