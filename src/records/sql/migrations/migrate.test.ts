/** The migrator on lists of migrations that are made up here. */
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { hasCode, rejectionOf } from "../../../../testing/refusals.ts";
import type Database from "better-sqlite3";
import { openDatabase, sqliteEngine } from "../sqlite/sqlite.ts";
import { migrate, type MigratableEngine } from "./migrate.ts";
import { dataVersion, migrations, type Migration } from "./migrations.ts";

interface TestRecords {
  database: Database.Database;
  engine: MigratableEngine;
}

/** Returns a way to open the same file several times. */
async function place(context: TestContext): Promise<() => TestRecords> {
  const folder = await mkdtemp(join(tmpdir(), "aptove-migrate-"));
  const opened: TestRecords[] = [];
  context.after(async () => {
    for (const { engine } of opened) await engine.db.destroy();
    await rm(folder, { recursive: true });
  });
  return () => {
    const database = openDatabase(join(folder, "records.db"));
    const records = { database, engine: sqliteEngine(database) };
    opened.push(records);
    return records;
  };
}

/** Users as a first version might keep them. */
const first: Migration = {
  statements: ({ id }) => [`create table users (id ${id} not null primary key, doc text not null)`],
};
/** Takes a field out of `doc`, which needs the rows and not only SQL. */
const second: Migration = {
  statements: () => ["alter table users add column email text"],
  async rewrite(tx) {
    for (const { id, doc } of await tx.selectFrom("users").select(["id", "doc"]).execute()) {
      const { email } = JSON.parse(doc) as { email: string };
      await tx.updateTable("users").set({ email, doc: "{}" }).where("id", "=", id).execute();
    }
  },
};
const added: Migration = { statements: () => ["create table moods (id text primary key)"], isAdditive: true };
const broken: Migration = { statements: () => ["create table half (id text)", "create table half (id text)"] };

function tablesOf({ database }: TestRecords): unknown[] {
  return database.prepare("select name from sqlite_master where type = 'table' order by name").pluck().all();
}

test("[B2] new records get every migration in order, with the engine's type of ids", async (context) => {
  const records = (await place(context))();
  await migrate(records.engine, [first, second, added]);
  assert.deepEqual(tablesOf(records), ["moods", "schema_oldest", "users"]);
  const columns = records.database.prepare("select name, type from pragma_table_info('users')").raw().all();
  assert.deepEqual(columns, [
    ["id", "TEXT"],
    ["doc", "TEXT"],
    ["email", "TEXT"],
  ]);
  assert.deepEqual(await records.engine.readVersion(records.engine.db), { version: 3, oldest: 2 });
});

test("[B2] older records get the migrations that they lack, and their rows are rewritten", async (context) => {
  const records = (await place(context))();
  await migrate(records.engine, [first]);
  records.database.prepare("insert into users values ('ada', ?)").run(JSON.stringify({ email: "ada@example.org" }));
  await migrate(records.engine, [first, second]);
  assert.deepEqual(records.database.prepare("select * from users").all(), [
    { id: "ada", doc: "{}", email: "ada@example.org" },
  ]);
  assert.deepEqual(await records.engine.readVersion(records.engine.db), { version: 2, oldest: 2 });
});

test("[B2] a migration that fails changes nothing, not even by those before it", async (context) => {
  const records = (await place(context))();
  await migrate(records.engine, [first]);
  await assert.rejects(migrate(records.engine, [first, second, broken]), /half/);
  assert.deepEqual(tablesOf(records), ["schema_oldest", "users"]);
  assert.deepEqual(await records.engine.readVersion(records.engine.db), { version: 1, oldest: 1 });
});

test("[B2] an additive migration leaves the oldest program as it is, any other one raises it", async (context) => {
  const records = (await place(context))();
  const versions: number[] = [];
  for (const length of [1, 2, 3, 4]) {
    await migrate(records.engine, [first, added, { ...second }, { ...added, statements: () => [] }].slice(0, length));
    versions.push((await records.engine.readVersion(records.engine.db)).oldest);
  }
  assert.deepEqual(versions, [1, 1, 3, 3]);
});

test("[B2] newer records are used as they are where their program only added something, and refused where not", async (context) => {
  const records = (await place(context))();
  await migrate(records.engine, [first, added]);
  await migrate(records.engine, [first]);
  assert.deepEqual(await records.engine.readVersion(records.engine.db), { version: 2, oldest: 1 });
  await migrate(records.engine, [first, added, second]);
  const changes = records.database.prepare("select total_changes()").pluck();
  const before = changes.get();
  const error = await rejectionOf(migrate(records.engine, [first, added]));
  assert.equal(error.code, "data_newer");
  assert.deepEqual(error.facts, { found: 3, oldest: 3, known: 2 });
  assert.equal(changes.get(), before);
});

test("[B2] of several that migrate at once one does it, and the others wait for it", async (context) => {
  const open = await place(context);
  const all = [open(), open(), open(), open()];
  let runs = 0;
  const counted: Migration = { ...second, rewrite: () => Promise.resolve(void (runs += 1)) };
  await Promise.all(all.map(({ engine }) => migrate(engine, [first, counted])));
  assert.equal(runs, 1);
  for (const { engine } of all) assert.deepEqual(await engine.readVersion(engine.db), { version: 2, oldest: 2 });
});

test("[B2] with nothing to do, records are only read: a process that writes holds up no start", async (context) => {
  const open = await place(context);
  const [writer, starter] = [open(), open()];
  await migrate(writer.engine, [first]);
  writer.database.exec("begin immediate");
  await migrate(starter.engine, [first]);
  writer.database.exec("rollback");
});

test("[B2] a wait for the lock that takes too long is reported, and the extra connection is closed", async (context) => {
  const { engine } = (await place(context))();
  const other = (await place(context))();
  let isClosed = false;
  const db = other.engine.db;
  const destroy = db.destroy.bind(db);
  db.destroy = () => ((isClosed = true), destroy());
  const lock = (): Promise<void> => Promise.reject(Object.assign(new Error("lock timeout"), { code: "55P03" }));
  const migration = migrate({ ...engine, lock, forMigrating: () => db }, [first]);
  await assert.rejects(migration, hasCode("storage_failed", /start again/));
  assert.ok(isClosed);
});

test("[B2] [K6] version 7 keeps rows, indexes and references of tables that become one tree, and no key stands twice in them", async (context) => {
  const records = (await place(context))();
  const { database } = records;
  await migrate(records.engine, migrations.slice(0, 6));
  database.exec(`
    insert into runners values ('r1', 1, '{}'), ('r2', 2, '{"host":"h"}');
    insert into budgets values ('b1', 'o1', 'org', 'o1', 'day', 'usd', 5, 1, 'u1', '{}');
    insert into audit values ('a1', 'o1', 1, null, 'key_created', 't1', '{}')`);
  const indexes = database.prepare("select name from sqlite_master where type = 'index' and sql is not null").pluck();
  const before = indexes.all().toSorted();
  await migrate(records.engine, migrations);
  assert.deepEqual(database.prepare("select * from runners").raw().all(), [
    ["r1", 1, "{}"],
    ["r2", 2, '{"host":"h"}'],
  ]);
  assert.equal(database.prepare("select count(*) from audit where org_id = 'o1'").pluck().get(), 1);
  assert.deepEqual(indexes.all().toSorted(), before);
  const sameTarget = "insert into budgets values ('b2', 'o1', 'org', 'o1', 'day', 'usd', 6, 1, 'u1', '{}')";
  assert.throws(() => database.exec(sameTarget), { code: "SQLITE_CONSTRAINT_UNIQUE" });
  assert.throws(() => database.exec("insert into steps values ('gone', 1, '{}')"), {
    code: "SQLITE_CONSTRAINT_FOREIGNKEY",
  });
  const oneTree = database.prepare<[string], number>("select wr from pragma_table_list(?)").pluck();
  for (const table of ["runners", "budgets", "audit", "steps", "blobs"]) assert.equal(oneTree.get(table), 1, table);
});

test("[B2] [K6] a new file has the tables, indexes and columns of one that was migrated", async (context) => {
  const schemaOf = async (steps: number[]): Promise<unknown[]> => {
    const { database, engine } = (await place(context))();
    for (const step of steps) await migrate(engine, migrations.slice(0, step));
    const all = database.prepare("select type, name, tbl_name, sql from sqlite_master order by type, name").all();
    return (all as { sql: string | null }[]).map((one) => ({ ...one, sql: one.sql?.replaceAll(/"|\s+/g, " ").trim() }));
  };
  const plain = (all: unknown[]): string => JSON.stringify(all).toLowerCase().replaceAll(/\s+/g, "");
  assert.equal(plain(await schemaOf([migrations.length])), plain(await schemaOf([6, migrations.length])));
});

test("[B2] the records have version 7, which programs of version 1 can use too where the database is PostgreSQL", () => {
  assert.equal(dataVersion, 7);
  assert.deepEqual(
    migrations.map(({ isAdditive }) => isAdditive),
    [undefined, true, "without contents", true, true, true, "without contents"],
  );
});
