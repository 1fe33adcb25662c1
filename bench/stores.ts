/**
 * The cost of a turn with PostgreSQL and S3 compared with SQLite and files. The set-ups alternate, so that the load of the
 * machine falls on all of them alike: read the ratios. Ceph keeps its objects in memory here, and the database is on
 * this machine, so there is neither a disk behind S3 nor a network; real round trips add to these figures.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import type { Caller } from "../src/domain/caller.ts";
import { createAptove, type Aptove, type AptoveOptions } from "../src/index.ts";
import { startPostgres, type TestPostgres } from "../testing/postgres.ts";
import { missingPackages } from "../testing/servers/programs.ts";
import { createBucket, startRadosgw, type TestRadosgw } from "../testing/servers/radosgw.ts";
import { instantProvider, text400 } from "./instant-provider.ts";
import { median, percentile, type BenchRow } from "./rows.ts";

const warmTurns = 40;
const turns = 150;

interface SetUp {
  name: string;
  aptove: Aptove;
  caller: Caller;
  sessionId: string | null;
  times: number[];
}

export async function benchStores(): Promise<BenchRow[]> {
  const dataDir = mkdtempSync(join(tmpdir(), "aptove-bench-"));
  const postgres = await startPostgres({ isDurable: true });
  const s3 =
    missingPackages(["radosgw", "ceph-mon", "ceph-osd", "ceph-common"]).length === 0 ? await startRadosgw() : null;
  const setUps: SetUp[] = [];
  try {
    for (const [name, options] of await configurations(dataDir, postgres, s3)) setUps.push(await open(name, options));
    for (let turn = 1; turn <= warmTurns + turns; turn += 1) for (const setUp of setUps) await ask(setUp, turn);
    return rowsOf(setUps, s3 === null);
  } finally {
    for (const { aptove } of setUps) await aptove.engine.close();
    await Promise.all([postgres.stop(), s3?.stop()]);
    rmSync(dataDir, { recursive: true, force: true });
  }
}

async function configurations(
  dataDir: string,
  postgres: TestPostgres,
  s3: TestRadosgw | null,
): Promise<[string, AptoveOptions][]> {
  const own = (name: string): string => join(dataDir, name);
  const found: [string, AptoveOptions][] = [
    ["SQLite, files", { dataDir: own("embedded"), env: {} }],
    [
      "PostgreSQL, files",
      { dataDir: own("postgres"), env: {}, overrides: { records: await database(postgres, "one") } },
    ],
  ];
  if (s3 === null) return found;
  const { endpoint, accessKeyId, secretAccessKey } = s3;
  const env = { AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey };
  const blobs = { url: `s3://${await createBucket(s3)}`, endpoint };
  found.push([
    "PostgreSQL, S3",
    { dataDir: own("team"), env, overrides: { records: await database(postgres, "two"), blobs } },
  ]);
  return found;
}

async function database({ url }: TestPostgres, name: string): Promise<{ url: string }> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query(`create database ${name}`);
  await client.end();
  return { url: url.replace("/postgres?", `/${name}?`) };
}

async function open(name: string, options: AptoveOptions): Promise<SetUp> {
  const aptove = await createAptove({
    ...options,
    providers: [instantProvider()],
    agentContexts: [{ id: "default", name: "Default", provider: "instant", index: "local" }],
  });
  return { name, aptove, caller: await aptove.engine.keys.owner(), sessionId: null, times: [] };
}

async function ask(setUp: SetUp, turn: number): Promise<void> {
  const { aptove, caller, sessionId, times, name } = setUp;
  const startedAt = performance.now();
  const instruction = text400(`instruction ${turn}`);
  const running = await aptove.engine.turns.run(caller, { instruction, ...(sessionId !== null && { sessionId }) });
  const finished = await running.finished;
  if (turn > warmTurns) times.push(performance.now() - startedAt);
  if (finished.status !== "completed") throw new Error(`a turn of ${name} ended ${finished.status}`);
  setUp.sessionId = running.sessionId;
}

function rowsOf(setUps: readonly SetUp[], isWithoutS3: boolean): BenchRow[] {
  const base = median(setUps[0]?.times ?? []);
  const rows = setUps.flatMap(({ name, times }): BenchRow[] => [
    { name: `turn, ${name}: median`, value: median(times), unit: "ms" },
    { name: `turn, ${name}: 95th percentile`, value: percentile(times, 95), unit: "ms" },
    ...(times === setUps[0]?.times
      ? []
      : [{ name: `turn, ${name}, over SQLite and files`, value: median(times) / base, unit: "x" }]),
  ]);
  const note = "Ceph is not installed: apt-get install radosgw ceph-mon ceph-osd ceph-common";
  return isWithoutS3 ? [...rows, { name: "turn, PostgreSQL, S3: median", value: Number.NaN, unit: "ms", note }] : rows;
}
