import assert from "node:assert/strict";
import { spawn, type ChildProcess } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { test, type TestContext } from "node:test";
import { fileURLToPath } from "node:url";
import { rejectionOf } from "../../../../testing/refusals.ts";
import { runOnSmallDisk } from "../../../../testing/small-disk.ts";
import Database from "better-sqlite3";
import { recordStoreSuite } from "../../record-store.suite.ts";
import {
  ada,
  completedSample,
  draftOf,
  finishSampleTurn,
  openSampleTurn,
  openingOf,
  sampleOrgId,
  readSession,
  runSampleFork,
  runSampleTurn,
  sessionOf,
  startSession,
} from "../../suite/samples.ts";
import { dataVersion } from "../migrations/migrations.ts";
import { sqlRecords } from "../sql-records.ts";
import { openDatabase, openSqliteRecords, sqliteEngine } from "./sqlite.ts";

async function temporaryFile(context: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "aptove-records-"));
  context.after(() => rm(folder, { recursive: true }));
  return join(folder, "data", "records.db");
}

/** Reads or changes the file without the store. */
async function withDatabase<T>(file: string, work: (database: Database.Database) => T): Promise<T> {
  const database = new Database(file, { fileMustExist: true });
  try {
    return work(database);
  } finally {
    database.close();
  }
}

/** The content of a file with empty tables. Making the tables takes longer than most tests. */
let emptyFile: Buffer | undefined;

async function placeEmptyFile(context: TestContext, file: string): Promise<void> {
  if (emptyFile === undefined) {
    const made = await temporaryFile(context);
    await (await openSqliteRecords({ file: made })).close();
    emptyFile = await readFile(made);
  }
  await mkdir(dirname(file), { mode: 0o700 });
  await writeFile(file, emptyFile, { mode: 0o600 });
}

recordStoreSuite("records in SQLite", async (context) => {
  const file = await temporaryFile(context);
  await placeEmptyFile(context, file);
  const store = await openSqliteRecords({ file });
  context.after(() => store.close());
  return { store, reopen: () => openSqliteRecords({ file }) };
});

test("[B3] [B4] when one of two writers on one file is killed, every acknowledged turn is stored, and the other writer continues", async (context) => {
  const file = await temporaryFile(context);
  const acknowledged = new Map<string, string>();
  const survivor = new Writer(context, file);
  for (const killAfter of [1, 25, 60]) {
    const victim = new Writer(context, file);
    await victim.acknowledges(killAfter);
    await victim.kill();
    await survivor.acknowledges(20);
    for (const [turnId, status] of victim.acknowledged) acknowledged.set(turnId, status);
  }
  await survivor.kill();
  for (const [turnId, status] of survivor.acknowledged) acknowledged.set(turnId, status);

  const faults = await withDatabase(file, (database) => [
    database.pragma("integrity_check", { simple: true }),
    database.pragma("foreign_key_check"),
  ]);
  assert.deepEqual(faults, ["ok", []]);
  const store = await openSqliteRecords({ file });
  context.after(() => store.close());
  for (const [turnId, status] of acknowledged) {
    const turn = await store.turns.get(turnId);
    // The last line of a writer may be older than its last write.
    const statuses = status === "pending" ? ["pending", "completed"] : ["completed"];
    assert.ok(statuses.includes(turn?.status ?? "missing"), `turn ${turnId} is ${turn?.status}, and was ${status}`);
  }
  const { sessions } = await store.sessions.list({ orgId: sampleOrgId, userId: ada, limit: 10 });
  assert.equal(sessions.length, 4);
  for (const session of sessions) {
    const turns = await store.turns.list(session.id, { limit: 10_000 });
    assert.equal(session.lastSequence, turns.length);
    assert.equal(session.lastTurnStatus, turns[0]?.status);
    assert.equal(session.tokensTotal, 500 * turns.filter((turn) => turn.status === "completed").length);
  }
});

/** A process that writes turns until it is killed. */
class Writer {
  readonly #process: ChildProcess;
  readonly #ended: Promise<unknown>;
  #wakeUp: () => void = () => undefined;
  /** The status that the store acknowledged last, by turn. */
  readonly acknowledged = new Map<string, string>();
  #lines = 0;

  constructor(context: TestContext, file: string) {
    const program = fileURLToPath(new URL("../../../../testing/sqlite-writer.ts", import.meta.url));
    this.#process = spawn(process.execPath, [program, file], { stdio: ["ignore", "pipe", "inherit"] });
    context.after(() => this.#process.kill("SIGKILL"));
    assert.ok(this.#process.stdout !== null);
    const lines = createInterface(this.#process.stdout);
    lines.on("line", (line) => {
      const [turnId = "", status = ""] = line.split(" ");
      this.acknowledged.set(turnId, status);
      this.#lines += 1;
      this.#wakeUp();
    });
    this.#ended = new Promise((resolve) => lines.on("close", resolve));
  }

  /** Waits until this many more writes were acknowledged. Rejects if the process ends before that. */
  async acknowledges(count: number): Promise<void> {
    const until = this.#lines + count;
    const enough = new Promise<void>((resolve) => {
      this.#wakeUp = () => (this.#lines >= until ? resolve() : undefined);
    });
    await Promise.race([enough, this.#ended.then(() => assert.fail("the writer ended by itself"))]);
  }

  /** Resolves when every line that it wrote was read. */
  async kill(): Promise<void> {
    this.#process.kill("SIGKILL");
    await this.#ended;
  }
}

test("[B2] a new file that several stores open at once is migrated by one of them", async (context) => {
  const file = await temporaryFile(context);
  const stores = await Promise.all([1, 2, 3, 4].map(() => openSqliteRecords({ file })));
  context.after(() => Promise.all(stores.map((store) => store.close())));
  const [first, second] = stores;
  assert.ok(first !== undefined && second !== undefined);
  const session = await startSession(first);
  assert.deepEqual(await second.sessions.get(session.id), session);
});

test("[B2] records of a newer version are used if that version only added something, else refused and left unchanged", async (context) => {
  const file = await temporaryFile(context);
  const store = await openSqliteRecords({ file });
  await startSession(store);
  await store.close();
  await withDatabase(file, (database) => database.pragma(`user_version = ${dataVersion + 1}`));
  const added = await openSqliteRecords({ file });
  const { version, oldest, known } = await added.storage.about();
  assert.deepEqual([version, oldest, known], [dataVersion + 1, 7, dataVersion]);
  await added.close();
  await withDatabase(file, (database) => database.exec(`update schema_oldest set version = ${dataVersion + 1}`));
  const before = await readFile(file);
  const error = await rejectionOf(openSqliteRecords({ file }));
  assert.equal(error.code, "data_newer");
  assert.deepEqual(error.facts, { found: dataVersion + 1, oldest: dataVersion + 1, known: dataVersion });
  assert.deepEqual(await readFile(file), before);
});

test(
  "[B6] only the owner can read the file and its folder",
  { skip: process.platform === "win32" },
  async (context) => {
    const file = await temporaryFile(context);
    const store = await openSqliteRecords({ file });
    context.after(() => store.close());
    await startSession(store);
    const modes = [dirname(file), file, `${file}-wal`, `${file}-shm`].map(
      async (path) => (await stat(path)).mode & 0o777,
    );
    assert.deepEqual(await Promise.all(modes), [0o700, 0o600, 0o600, 0o600]);
  },
);

test("[K1] a fork, a rerun, a continue and a head move write as many rows below 1,000 turns as below 10", async (context) => {
  const database = openDatabase(await temporaryFile(context));
  database.pragma("synchronous = off");
  const store = await sqlRecords(sqliteEngine(database));
  context.after(() => store.close());
  const rowsOf = async (work: () => Promise<unknown>): Promise<number> => {
    const rows = database.prepare("select total_changes()").pluck();
    const before = Number(rows.get());
    await work();
    return Number(rows.get()) - before;
  };
  const { id } = await startSession(store);
  const costs: number[][] = [];
  for (let depth = 1; depth <= 1_000; depth += 1) {
    await runSampleTurn(store, id);
    if (depth !== 10 && depth !== 1_000) continue;
    const [head, parent] = await store.turns.list(id, { limit: 2 });
    assert.ok(head !== undefined && parent !== undefined);
    const place = { parentId: parent.id, depth: head.depth, rerunOf: head.id };
    const rerun = draftOf(await readSession(store, id), place);
    const move = { sessionId: id, userId: ada, at: 0 };
    costs.push([
      await rowsOf(() => runSampleFork(store, head)),
      await rowsOf(async () => {
        const turn = await openSampleTurn(store, openingOf(rerun, { expectedHead: head.id }));
        await finishSampleTurn(store, completedSample(turn), { head: { from: head.id } });
      }),
      await rowsOf(() => store.sessions.moveHead({ ...move, from: rerun.id, to: head.id })),
      await rowsOf(() => runSampleTurn(store, id)),
    ]);
  }
  // A fork writes its session, turn and author, the end of both, and the words and the content of the turn. A rerun and a
  // continue write no session and no author.
  assert.deepEqual(costs, [
    [7, 6, 2, 6],
    [7, 6, 2, 6],
  ]);
});

test("[K1] a turn needs no new statements: its values are parameters of the statements that earlier turns prepared", async (context) => {
  const database = openDatabase(await temporaryFile(context));
  const prepare = context.mock.method(database, "prepare");
  const store = await sqlRecords(sqliteEngine(database));
  context.after(() => store.close());
  const { id } = await startSession(store);
  const runOne = async (at: number): Promise<void> => {
    const turn = await openSampleTurn(store, openingOf(draftOf(await readSession(store, id), { createdAt: at })));
    await finishSampleTurn(store, { ...completedSample(turn), statusAt: at + 1 });
  };
  await runOne(1_000);
  await runOne(2_000);
  const before = prepare.mock.callCount();
  for (let at = 3_000; at < 5_000; at += 1_000) await runOne(at);
  const own = prepare.mock.calls.slice(before).map(({ arguments: [text] }) => text);
  assert.deepEqual(own, []);
});

test("[B3] a disk without room for what SQLite shares between processes is storage_full, and the file is whole", (context) => {
  const script = new URL("../../../../testing/children/fill-records.ts", import.meta.url);
  return runOnSmallDisk(context, fileURLToPath(script), "size=4m");
});

test("[B3] a full device is storage_full; no transaction is written in part, and the store works again when there is room", async (context) => {
  const file = await temporaryFile(context);
  const database = openDatabase(file);
  const store = await sqlRecords(sqliteEngine(database));
  context.after(() => store.close());
  const before = await startSession(store);
  const pages = database.pragma("page_count", { simple: true });
  database.pragma(`max_page_count = ${Number(pages) + 2}`);

  const newSession = sessionOf();
  const large = draftOf(newSession, { instructionSummary: "x".repeat(100_000) });
  const isFull = { name: "AptoveError", code: "storage_full" };
  await assert.rejects(store.turns.open(openingOf(large, { newSession })), isFull);
  await assert.rejects(store.sessions.insert(sessionOf({ description: "x".repeat(100_000) })), isFull);
  assert.equal(await store.sessions.get(newSession.id), null);
  assert.deepEqual(await readSession(store, before.id), before);

  database.pragma("max_page_count = 100000");
  await openSampleTurn(store, openingOf(large, { newSession }));
  await runSampleTurn(store, before.id);
});

test("[B3] the log may be synced apart from a commit, and a checkpoint syncs, also on a file that exists, and also on macOS", async (context) => {
  const file = await temporaryFile(context);
  for (let time = 1; time <= 2; time += 1) {
    const database = openDatabase(file);
    const [log, synchronous, full] = ["journal_mode", "synchronous", "fullfsync"].map((name) =>
      database.pragma(name, { simple: true }),
    );
    database.close();
    // 1 is "normal": a commit leaves the sync of the log to us (log-sync.ts). With 0 a checkpoint may damage the file.
    assert.deepEqual({ log, synchronous, full }, { log: "wal", synchronous: 1, full: 1 });
  }
});

test("[B3] a file that is no database and a damaged row are records_damaged, a folder is storage_failed, never an empty result", async (context) => {
  const file = await temporaryFile(context);
  const isFault = { name: "AptoveError", code: "storage_failed" };
  const isDamage = { name: "AptoveError", code: "records_damaged" };
  await assert.rejects(openSqliteRecords({ file: dirname(dirname(file)) }), isFault);

  const store = await openSqliteRecords({ file });
  const session = await startSession(store);
  await withDatabase(file, (database) => database.prepare(`update sessions set doc = '{"name": '`).run());
  await assert.rejects(store.sessions.get(session.id), isDamage);
  await assert.rejects(store.sessions.list({ orgId: sampleOrgId, userId: ada, limit: 1 }), isDamage);
  await store.close();
  await assert.rejects(store.sessions.get(session.id), isFault);

  const other = join(dirname(file), "notes.txt");
  await writeFile(other, "These are notes, and no database. ".repeat(100));
  await assert.rejects(openSqliteRecords({ file: other }), isDamage);
  assert.match(await readFile(other, "utf8"), /^These are notes/);
});
