/**
 * What survives the loss of power (B3). No test can cut the power, but one can copy the files as they are when a sync begins: what a
 * machine would find after a loss of power has at least that. Everything that is acknowledged must be in the newest copy whose sync has ended.
 */
import assert from "node:assert/strict";
import fs from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import Database from "better-sqlite3";
import { Kysely, sql } from "kysely";
import { openSqliteFile, sqliteDialect } from "./sqlite-driver.ts";
import { openDatabase } from "./sqlite.ts";

interface Durable {
  file: string;
  db: Kysely<object>;
  unsynced: Kysely<object>;
  /** The rows that a machine finds after it lost its power now. */
  afterPowerLoss(): string[];
  syncs(): number;
}

type Callback = (error: NodeJS.ErrnoException | null) => void;

/** `sync` stands for the sync of the disk. Default: it is done at once. */
function openDurable(context: TestContext, sync: (done: Callback) => void = (done) => done(null)): Durable {
  const folder = fs.mkdtempSync(join(tmpdir(), "aptove-sync-"));
  context.after(() => fs.rmSync(folder, { recursive: true }));
  const file = join(folder, "records.db");
  let copies = 0;
  let durable: string | null = null;
  context.mock.method(fs, "fdatasync", (_descriptor: number, done: Callback) => {
    const copy = join(folder, `copy-${(copies += 1)}.db`);
    for (const end of ["", "-wal"]) fs.copyFileSync(`${file}${end}`, `${copy}${end}`);
    sync((error) => {
      if (error === null) durable = copy;
      done(error);
    });
  });
  const database = openDatabase(file);
  // Checkpoints come often, so that the log is begun anew within the test.
  database.pragma("wal_autocheckpoint = 30");
  database.exec("create table t (id integer primary key, word text)");
  const opened = openSqliteFile(database);
  const db = new Kysely<object>({ dialect: sqliteDialect(opened) });
  context.after(() => db.destroy());
  const afterPowerLoss = (): string[] => {
    if (durable === null) return [];
    const found = new Database(durable);
    const rows = found.prepare<[], { word: string }>("select word from t order by id").all();
    found.close();
    return rows.map(({ word }) => word);
  };
  const unsynced = new Kysely<object>({ dialect: sqliteDialect(opened, { isDurable: false }) });
  return { file, db, unsynced, afterPowerLoss, syncs: () => copies };
}

const insert = (db: Kysely<object>, word: string): Promise<unknown> =>
  db.transaction().execute(async (tx) => sql`insert into t (word) values (${word})`.execute(tx));

async function count(db: Kysely<object>): Promise<number> {
  return (await sql`select id from t`.execute(db)).rows.length;
}

async function until(isSo: () => Promise<boolean>): Promise<void> {
  while (!(await isSo())) await new Promise((resolve) => setImmediate(resolve));
}

test("[B3] [K5] every acknowledged transaction survives the loss of power, beside others and across checkpoints", async (context) => {
  const { db, file, afterPowerLoss } = openDurable(context);
  const word = "x".repeat(1_000);
  for (let round = 0; round < 20; round += 1) {
    const names = Array.from({ length: 8 }, (_, at) => `${round}-${at}-${word}`);
    await Promise.all(
      names.map(async (name) => {
        await insert(db, name);
        assert.ok(afterPowerLoss().includes(name));
      }),
    );
  }
  assert.ok(fs.statSync(file).size > 100_000, "no checkpoint has written into the file");
  await sql`insert into t (word) values ('alone')`.execute(db);
  assert.equal(afterPowerLoss().at(-1), "alone");
});

test("[B3] [K5] the process goes on while the disk syncs, and what is written meanwhile shares the next sync", async (context) => {
  const held: Callback[] = [];
  let isOver = false;
  context.after(() => {
    isOver = true;
    held.forEach((done) => done(null));
  });
  const { db, afterPowerLoss, syncs } = openDurable(context, (done) => void (isOver ? done(null) : held.push(done)));
  const acknowledged: string[] = [];
  const note = async (name: string): Promise<void> => {
    await insert(db, name);
    acknowledged.push(name);
  };
  const first = note("first");
  await until(async () => held.length === 1);
  const others = [note("second"), note("third")];
  await until(async () => (await count(db)) === 3);
  assert.deepEqual(acknowledged, []);
  assert.equal(syncs(), 1);
  held.shift()?.(null);
  await first;
  assert.deepEqual(acknowledged, ["first"]);
  await until(async () => held.length === 1);
  assert.equal(syncs(), 2);
  held.shift()?.(null);
  await Promise.all(others);
  assert.deepEqual(afterPowerLoss(), ["first", "second", "third"]);
});

test("[B3] [R6] a transaction that need not survive the loss of power waits for no sync, and the next one takes it along", async (context) => {
  const { db, unsynced, afterPowerLoss, syncs } = openDurable(context);
  await insert(unsynced, "a step before a tool");
  assert.equal(syncs(), 0);
  await insert(db, "the next call");
  assert.deepEqual(afterPowerLoss(), ["a step before a tool", "the next call"]);
});

test("[B3] after a sync that failed nothing is acknowledged any more", async (context) => {
  const broken = Object.assign(new Error("EIO: i/o error, fdatasync"), { code: "EIO" });
  const answers: (Error | null)[] = [null, broken, null];
  const { db, syncs } = openDurable(context, (done) => done(answers.shift() ?? null));
  await insert(db, "kept");
  await assert.rejects(insert(db, "lost"), broken);
  await assert.rejects(insert(db, "later"), broken);
  await assert.rejects(sql`insert into t (word) values ('alone')`.execute(db), broken);
  // The file has the transaction that failed. Who reads it would take it for a success.
  await assert.rejects(count(db), broken);
  assert.equal(syncs(), 2);
});
