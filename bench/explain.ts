/**
 * The cost of explaining and moving a conversation of a thousand turns: the difference of two turns at its end, the
 * proof of its digests, its export, and its import elsewhere. Each by an engine that has read nothing before.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createAptove, type Aptove, type Caller } from "../src/index.ts";
import { instantProvider, text400 } from "./instant-provider.ts";
import { median, type BenchRow } from "./rows.ts";

const turnsTotal = 1_000;
const runs = 5;

export async function benchExplain(): Promise<BenchRow[]> {
  const [from, to] = [1, 2].map(() => mkdtempSync(join(tmpdir(), "aptove-bench-"))) as [string, string];
  try {
    const turns = await withAptove(from, converse);
    return [...(await diffRows(from, turns)), ...(await moveRows(from, to, turns.sessionId))];
  } finally {
    rmSync(from, { recursive: true, force: true });
    rmSync(to, { recursive: true, force: true });
  }
}

type Work<T> = (aptove: Aptove, caller: Caller) => Promise<T>;

async function withAptove<T>(dataDir: string, work: Work<T>): Promise<T> {
  const aptove = await createAptove({
    dataDir,
    env: {},
    providers: [instantProvider()],
    agentContexts: [{ id: "default", name: "Default", provider: "instant", index: "local" }],
  });
  try {
    return await work(aptove, await aptove.engine.keys.owner());
  } finally {
    await aptove.engine.close();
  }
}

interface Turns {
  sessionId: string;
  head: string;
  /** The id of the head's sibling. */
  rerun: string;
  /** The id of a child of the first turn. */
  early: string;
}

async function converse({ engine }: Aptove, caller: Caller): Promise<Turns> {
  let sessionId: string | undefined;
  let head = "";
  for (let turn = 1; turn <= turnsTotal; turn += 1) {
    const instruction = text400(`instruction ${turn}`);
    const running = await engine.turns.run(caller, { instruction, ...(sessionId !== undefined && { sessionId }) });
    await running.finished;
    sessionId = running.sessionId;
    head = running.turnId;
  }
  const forked = await engine.turns.run(caller, { instruction: "early", fork: { turnId: sessionId ?? "" } });
  await forked.finished;
  const again = await engine.turns.run(caller, { instruction: "", rerun: { turnId: head } });
  await again.finished;
  return { sessionId: sessionId ?? "", head, rerun: again.turnId, early: forked.turnId };
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  await work();
  return performance.now() - startedAt;
}

async function diffRows(dataDir: string, { head, rerun, early }: Turns): Promise<BenchRow[]> {
  const measure = async (b: string): Promise<number> => {
    const times: number[] = [];
    for (let run = 0; run < runs; run += 1) {
      await withAptove(dataDir, async ({ engine }, caller) => {
        times.push(await timed(() => engine.explain.diff(caller, { a: head, b })));
      });
    }
    return median(times);
  };
  return [
    { name: "diff of a turn at depth 1,000 and its rerun", value: await measure(rerun), unit: "ms", limit: 100 },
    { name: "diff of a turn at depth 1,000 and one at depth 2", value: await measure(early), unit: "ms", limit: 100 },
  ];
}

async function moveRows(from: string, to: string, sessionId: string): Promise<BenchRow[]> {
  const lines: string[] = [];
  const rows: BenchRow[] = [];
  await withAptove(from, async ({ engine }, caller) => {
    const time = await timed(() => engine.explain.verify(caller, sessionId));
    rows.push({ name: "verify 1,000 turns", value: time / 1_000, unit: "s", limit: 3 });
  });
  await withAptove(from, async ({ engine }, caller) => {
    const time = await timed(async () => {
      for await (const line of engine.transfer.export(caller, { sessionId })) lines.push(line);
    });
    const megabytes = lines.reduce((sum, line) => sum + line.length + 1, 0) / 1e6;
    rows.push({ name: "export 1,000 turns", value: time / 1_000, unit: "s", limit: 3 });
    rows.push({ name: "size of the export", value: megabytes, unit: "MB" });
  });
  await withAptove(to, async ({ engine }, caller) => {
    const time = await timed(() => engine.transfer.import(caller, each(lines)));
    rows.push({ name: "import 1,000 turns", value: time / 1_000, unit: "s", limit: 3 });
    const again = await timed(() => engine.transfer.import(caller, each(lines)));
    rows.push({ name: "import them again, with nothing new", value: again / 1_000, unit: "s" });
  });
  return rows;
}

async function* each(lines: readonly string[]): AsyncGenerator<string> {
  yield* lines;
}
