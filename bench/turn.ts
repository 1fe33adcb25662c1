/**
 * The cost of a turn without the provider: time, bytes and files, at the beginning of a conversation and after
 * a thousand turns. The provider answers at once, so all measured time is aptove's.
 */
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { BlobStore } from "../src/blobs/blob-store.ts";
import { compressedBlobs } from "../src/blobs/compressed-blobs.ts";
import { fileBlobs } from "../src/blobs/files/file-blobs.ts";
import { createAptove, type Aptove } from "../src/index.ts";
import { Histories } from "../src/engine/turn/kept/histories.ts";
import { historyItems } from "../src/domain/lineage.ts";
import { openSqliteRecords } from "../src/records/sql/sqlite/sqlite.ts";
import { instantProvider, text400 } from "./instant-provider.ts";
import { median, type BenchRow } from "./rows.ts";

const turnsTotal = 1_000;
const warmTurns = 200;
/** Windows of 16 turns: each holds the same mix of long and short states, at any position (K2). */
const window = 16;

interface Conversation {
  aptove: Aptove;
  dataDir: string;
  headTurnId: string;
  /** Milliseconds of each turn, by index from 0. */
  times: number[];
  /** The bytes of each turn's blobs. */
  blobBytes: number[];
}

export async function benchTurn(): Promise<BenchRow[]> {
  const chain = await converse("chain");
  const rows = [
    ...timeRows(chain, "chain"),
    ...(await byteRows(chain)),
    ...(await coldRows(chain)),
    ...(await bareRow()),
  ];
  await end(chain);
  const replay = await converse("replay");
  rows.push(...timeRows(replay, "replay"), ...marginalRows(replay, "replay"));
  await end(replay);
  return rows;
}

async function converse(history: "chain" | "replay"): Promise<Conversation> {
  const dataDir = mkdtempSync(join(tmpdir(), "aptove-bench-"));
  const written = new Map<string, number>();
  const store = compressedBlobs(fileBlobs({ folder: join(dataDir, "blobs") }));
  const aptove = await createAptove({
    dataDir,
    env: {},
    blobs: counting(store, written),
    providers: [instantProvider()],
    agentContexts: [{ id: "default", name: "Default", provider: "instant", index: "local" }],
    overrides: { conversation_contexts: { default: { history } } },
  });
  const caller = await aptove.engine.keys.owner();
  await warmUp(aptove);
  const conversation: Conversation = { aptove, dataDir, headTurnId: "", times: [], blobBytes: [] };
  let sessionId: string | undefined;
  for (let turn = 1; turn <= turnsTotal; turn += 1) {
    written.clear();
    const startedAt = performance.now();
    const running = await aptove.engine.turns.run(caller, {
      instruction: text400(`instruction ${turn}`),
      ...(sessionId !== undefined && { sessionId }),
    });
    const finished = await running.finished;
    conversation.times.push(performance.now() - startedAt);
    if (finished.status !== "completed") throw new Error(`turn ${turn} ended ${finished.status}`);
    sessionId = running.sessionId;
    conversation.headTurnId = running.turnId;
    conversation.blobBytes.push(await storedBytes(store, written));
  }
  return conversation;
}

/** Runs another conversation first, so that the compilation of the program is not measured. */
async function warmUp({ engine }: Aptove): Promise<void> {
  const caller = await engine.keys.owner();
  let sessionId: string | undefined;
  for (let turn = 0; turn < warmTurns; turn += 1) {
    const instruction = text400(`warm ${turn}`);
    const running = await engine.turns.run(caller, { instruction, ...(sessionId !== undefined && { sessionId }) });
    await running.finished;
    sessionId = running.sessionId;
  }
}

/** Records the keys that a turn wrote. */
function counting(store: BlobStore, written: Map<string, number>): BlobStore {
  return {
    put: async (key, bytes) => {
      written.set(key, bytes.length);
      await store.put(key, bytes);
    },
    get: (key) => store.get(key),
    delete: (key) => store.delete(key),
    list: (prefix) => store.list(prefix),
    size: (key) => store.size(key),
  };
}

async function storedBytes(store: BlobStore, written: Map<string, number>): Promise<number> {
  let sum = 0;
  for (const key of written.keys()) sum += (await store.size(key)) ?? 0;
  return sum;
}

/** Returns the turns around a position in the conversation. */
function around(values: readonly number[], turn: number): number[] {
  const from = Math.max(0, Math.min(turn - window / 2, values.length - window));
  return values.slice(from, from + window);
}

function timeRows({ times }: Conversation, history: string): BenchRow[] {
  const [early, late] = [median(around(times, 10)), median(around(times, turnsTotal))];
  const limit = history === "chain";
  return [
    { name: `turn overhead at turn 10 (${history})`, value: early, unit: "ms", ...(limit && { limit: 6 }) },
    { name: `turn overhead at turn 1,000 (${history})`, value: late, unit: "ms" },
    { name: `overhead at 1,000 over 10 (${history})`, value: late / early, unit: "x", ...(limit && { limit: 1.5 }) },
  ];
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

function marginalRows({ blobBytes }: Conversation, history: string): BenchRow[] {
  const [early, late] = [mean(around(blobBytes, 10)), mean(around(blobBytes, turnsTotal))];
  return [
    { name: `blob bytes per turn around turn 10 (${history})`, value: early, unit: "B" },
    { name: `blob bytes per turn around turn 1,000 (${history})`, value: late, unit: "B" },
    { name: `marginal cost at 1,000 over 10 (${history})`, value: late / early, unit: "x", limit: 2 },
  ];
}

async function byteRows(conversation: Conversation): Promise<BenchRow[]> {
  const { dataDir, blobBytes, aptove } = conversation;
  await aptove.engine.close();
  const allTurns = turnsTotal + warmTurns;
  const databaseBytes = statSync(join(dataDir, "records.db")).size / allTurns;
  const single = { ten: blobBytes[9] ?? 0, thousand: blobBytes[turnsTotal - 1] ?? 0 };
  return [
    { name: "bytes per turn: blobs", value: mean(blobBytes), unit: "B" },
    { name: "bytes per turn: database", value: databaseBytes, unit: "B" },
    { name: "bytes per turn: all content", value: mean(blobBytes) + databaseBytes, unit: "B", limit: 8_192 },
    {
      name: "blob bytes of turn 1,000 alone over turn 10 alone",
      value: single.thousand / single.ten,
      unit: "x",
      limit: 2,
    },
    ...marginalRows(conversation, "chain"),
  ];
}

/** Measures how long a process with empty caches takes to read the whole history of the last turn. */
async function coldRows({ dataDir, headTurnId }: Conversation): Promise<BenchRow[]> {
  const times: number[] = [];
  let reads = 0;
  for (let run = 0; run < 15; run += 1) {
    const store = compressedBlobs(fileBlobs({ folder: join(dataDir, "blobs") }));
    reads = 0;
    const counted: BlobStore = {
      put: (key, bytes) => store.put(key, bytes),
      get: (key) => {
        reads += 1;
        return store.get(key);
      },
      delete: (key) => store.delete(key),
      list: (prefix) => store.list(prefix),
      size: (key) => store.size(key),
    };
    const records = await openSqliteRecords({ file: join(dataDir, "records.db") });
    const startedAt = performance.now();
    const items = historyItems(await new Histories(counted, records).state(headTurnId));
    times.push(performance.now() - startedAt);
    if (items.length !== 2 * turnsTotal) throw new Error(`${items.length} items were read`);
    await records.close();
  }
  return [
    { name: "cold history of turn 1,000: files", value: reads, unit: "files", limit: 11 },
    { name: "cold history of turn 1,000: time", value: median(times), unit: "ms", limit: 25 },
  ];
}

/** Measures the same provider without aptove, for comparison. */
async function bareRow(): Promise<BenchRow[]> {
  const provider = instantProvider();
  const times: number[] = [];
  for (let run = 0; run < 200; run += 1) {
    const startedAt = performance.now();
    const request = provider.prepare(provider.exampleCall(text400(`bare ${run}`)));
    for await (const event of provider.send(request, new AbortController().signal)) void event;
    times.push(performance.now() - startedAt);
  }
  return [{ name: "bare call to the same provider", value: median(times), unit: "ms" }];
}

async function end({ aptove, dataDir }: Conversation): Promise<void> {
  await aptove.engine.close();
  rmSync(dataDir, { recursive: true, force: true });
}
