/**
 * A turn below 10,000 others beside one below 100, in the library, with a model in this process that remembers. The history is made on
 * a file system in memory, where a sync is free, and then copied to the disk.
 */
import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { tmpdir } from "node:os";
import { inTurn, median, medianRatio, type BenchRow, type Rounds } from "./rows.ts";
import { end } from "./subjects/programs.ts";
import { libraryProgram } from "./subjects/subject.ts";

const depths = [100, 10_000] as const;
/** The turns of one round: as many as have every kind of base once (K2). */
const window = 16;

interface Conversed {
  session: string;
  times: number[];
}

export async function benchDepth({ rounds }: Rounds): Promise<BenchRow[]> {
  const folder = mkdtempSync(join(tmpdir(), "aptove-bench-"));
  const memory = mkdtempSync(join(existsSync("/dev/shm") ? "/dev/shm" : tmpdir(), "aptove-bench-"));
  try {
    const sessions = await makeHistory(join(memory, "data"));
    cpSync(join(memory, "data"), join(folder, "data"), { recursive: true });
    return await measure(join(folder, "data"), sessions, rounds);
  } finally {
    for (const each of [folder, memory]) rmSync(each, { recursive: true, force: true });
  }
}

async function makeHistory(dataDir: string): Promise<string[]> {
  mkdirSync(dataDir, { mode: 0o700 });
  const { child, pipe } = await libraryProgram(dataDir, { model: "instant" });
  const sessions: string[] = [];
  for (const depth of depths) {
    const { session } = (await pipe.ask({ do: "converse", turns: depth - window })) as unknown as Conversed;
    console.error(`depth: there are ${depth} turns`);
    sessions.push(session);
  }
  await end(child);
  return sessions;
}

async function measure(dataDir: string, sessions: readonly string[], rounds: number): Promise<BenchRow[]> {
  const { child, pipe } = await libraryProgram(dataDir, { model: "instant" });
  const times = new Map<string, number[]>(sessions.map((session) => [session, []]));
  const converse = async (session: string): Promise<number> => {
    const conversed = (await pipe.ask({ do: "converse", session, turns: window })) as unknown as Conversed;
    return median(conversed.times);
  };
  // The first round only warms up.
  for (let round = 0; round <= rounds; round += 1) {
    for (const session of inTurn(sessions, round)) {
      const took = await converse(session);
      if (round > 0) times.get(session)?.push(took);
    }
  }
  await end(child);
  const [early = [], late = []] = sessions.map((session) => times.get(session) ?? []);
  return [
    { name: "turn 100, library", value: median(early), unit: "ms" },
    {
      name: "turn 10,000 over turn 100, library",
      value: median(late),
      unit: "ms",
      ratio: medianRatio(late, early),
      limit: 1.1,
      aim: 1,
    },
  ];
}
