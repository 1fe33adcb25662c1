/** A database that is not at its path any more is not written, whether it was moved, deleted or replaced. */
import assert from "node:assert/strict";
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { test, type TestContext } from "node:test";
import Database from "better-sqlite3";
import { Kysely, sql } from "kysely";
import { hasCode } from "../../../../testing/refusals.ts";
import { temporaryFolder } from "../../../../testing/temporary-folder.ts";
import { FilePlace } from "./file-place.ts";
import { openDatabase, openSqliteRecords } from "./sqlite.ts";
import { openSqliteFile, sqliteDialect } from "./sqlite-driver.ts";

interface OpenTable {
  db: Kysely<object>;
  file: string;
  folder: string;
  /** A free path for the folder. */
  away: string;
}

async function openTable(context: TestContext): Promise<OpenTable> {
  const parent = await temporaryFolder(context);
  const folder = join(parent, "data");
  const file = join(folder, "records.db");
  const database = openDatabase(file);
  database.exec("create table t (word text)");
  const db = new Kysely<object>({ dialect: sqliteDialect(openSqliteFile(database)) });
  context.after(() => db.destroy());
  return { db, file, folder, away: join(parent, "away") };
}

function insert(db: Kysely<object>, word: string): Promise<unknown> {
  return db.transaction().execute(async (tx) => sql`insert into t (word) values (${word})`.execute(tx));
}

async function words(db: Kysely<object>): Promise<string[]> {
  const { rows } = await sql<{ word: string }>`select word from t order by rowid`.execute(db);
  return rows.map(({ word }) => word);
}

test("[B3] every transaction of a database that was moved away is refused, and the next ones are stored when it is back", async (context) => {
  const { db, folder, away } = await openTable(context);
  await insert(db, "before");
  renameSync(folder, away);
  const refused = await Promise.allSettled([insert(db, "a"), insert(db, "b"), sql`delete from t`.execute(db)]);
  for (const result of refused) {
    assert.ok(result.status === "rejected");
    hasCode("records_moved", `the folder ${folder}, or the file, was moved or deleted`)(result.reason);
    hasCode("records_moved", "so nothing more is stored")(result.reason);
  }
  assert.deepEqual(await words(db), ["before"], "what was stored can still be read");
  renameSync(away, folder);
  await insert(db, "after");
  assert.deepEqual(await words(db), ["before", "after"]);
});

test("[B3] a transaction that shares its commit with none is refused too", async (context) => {
  const { db, folder, away } = await openTable(context);
  renameSync(folder, away);
  const alone = db.connection().execute(async (connection) => {
    await sql`pragma cache_size = -2000`.execute(connection);
    await insert(connection, "alone");
  });
  await assert.rejects(alone, hasCode("records_moved"));
  renameSync(away, folder);
  assert.deepEqual(await words(db), []);
});

test("[B3] a database whose file or folder was deleted takes nothing any more, and closes", async (context) => {
  for (const deleted of ["file", "folder"] as const) {
    const place = await openTable(context);
    rmSync(place[deleted], { recursive: true });
    await assert.rejects(insert(place.db, "lost"), hasCode("records_moved", /is gone/));
  }
});

test("[B3] [B4] when another process has put new records in the place of the open ones, neither are written", async (context) => {
  const { db, file, folder, away } = await openTable(context);
  await insert(db, "before");
  renameSync(folder, away);
  mkdirSync(folder);
  const other = new Database(file);
  context.after(() => other.close());
  other.exec("create table t (word text)");
  const content = (): string[] =>
    [folder, away].flatMap((at) =>
      readdirSync(at)
        .filter((name) => !name.endsWith("-shm"))
        .map((name) => `${name} ${readFileSync(join(at, name), "base64")}`),
    );
  const before = content();
  await assert.rejects(insert(db, "lost"), hasCode("records_moved", /another file than the one that is open/));
  assert.deepEqual(content(), before);
});

test("[B3] a database whose file was gone as soon as it was open is not written, and one of a relative path is where it was", async (context) => {
  const { file, folder } = await openTable(context);
  const cwd = process.cwd();
  context.after(() => process.chdir(cwd));
  process.chdir(folder);
  const relative = new FilePlace({ name: "records.db", memory: false });
  process.chdir(cwd);
  relative.check();
  const other = join(folder, "other.db");
  const gone = new FilePlace({ name: other, memory: false });
  assert.throws(() => gone.check(), hasCode("records_moved", /is gone/));
  renameSync(file, other);
  assert.throws(() => gone.check(), hasCode("records_moved", /another file/));
});

test("[B3] when the disk does not say which file is at the path, nothing is written", (context) => {
  if (process.platform === "win32") return context.skip("it has no such names");
  const name = "x".repeat(5_000);
  assert.throws(() => new FilePlace({ name, memory: false }), hasCode("storage_failed", /still the open file/));
});

test("[K5] the place is asked for once in each commit, and a database in memory has none", async (context) => {
  const { db } = await openTable(context);
  let asked = 0;
  const { check } = FilePlace.prototype;
  context.mock.method(FilePlace.prototype, "check", function counted(this: FilePlace) {
    asked += 1;
    check.call(this);
  });
  await Promise.all(["a", "b", "c"].map((word) => insert(db, word)));
  assert.equal(asked, 1);
  assert.equal((await words(db)).length, 3);
  const memory = new Database(":memory:");
  context.after(() => memory.close());
  new FilePlace(memory).check();
});

test("[H2] records that were moved away are noticed without a write", async (context) => {
  const parent = await temporaryFolder(context);
  const file = join(parent, "data", "records.db");
  const store = await openSqliteRecords({ file });
  context.after(() => store.close());
  await store.storage.checkPlace?.();
  renameSync(dirname(file), join(parent, "away"));
  assert.ok(store.storage.checkPlace !== undefined);
  await assert.rejects(store.storage.checkPlace(), hasCode("records_moved"));
});
