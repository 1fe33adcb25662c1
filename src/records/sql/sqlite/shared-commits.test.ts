import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { Kysely, sql } from "kysely";
import { countStatements } from "../../../../testing/count-statements.ts";
import { openDatabase } from "./sqlite.ts";
import { openSqliteFile, sqliteDialect } from "./sqlite-driver.ts";

interface Counted {
  db: Kysely<object>;
  /** The statements that the handle ran so far. */
  ran: string[];
}

async function openCounted(context: TestContext): Promise<Counted> {
  const folder = await mkdtemp(join(tmpdir(), "aptove-commits-"));
  context.after(() => rm(folder, { recursive: true }));
  const file = join(folder, "records.db");
  const ran = countStatements(context);
  const database = openDatabase(file);
  database.exec("create table t (id integer primary key, word text check (word <> 'bad'))");
  const db = new Kysely<object>({ dialect: sqliteDialect(openSqliteFile(database)) });
  context.after(() => db.destroy());
  return { db, ran };
}

function insert(db: Kysely<object>, word: string): Promise<unknown> {
  return db.transaction().execute(async (tx) => sql`insert into t (word) values (${word})`.execute(tx));
}

async function words(db: Kysely<object>): Promise<string[]> {
  const { rows } = await sql<{ word: string }>`select word from t order by id`.execute(db);
  return rows.map(({ word }) => word);
}

test("[K5] [H5] transactions that run at the same time share one commit", async (context) => {
  const { db, ran } = await openCounted(context);
  await Promise.all(Array.from({ length: 20 }, (_, at) => insert(db, `word ${at}`)));
  assert.equal(ran.filter((text) => text === "commit").length, 1);
  assert.equal((await words(db)).length, 20);
});

test("[K5] a transaction that runs alone is one transaction of SQLite without savepoints", async (context) => {
  const { db, ran } = await openCounted(context);
  await insert(db, "one");
  assert.deepEqual(ran, ["begin immediate", "insert into t (word) values (?)", "commit"]);
});

test("[B3] a transaction that fails takes none with it that shares its commit, whichever it is", async (context) => {
  for (const failing of [0, 1, 2]) {
    const { db } = await openCounted(context);
    const given = ["a", "b", "c"].map((word, at) => (at === failing ? "bad" : word));
    const results = await Promise.allSettled(given.map((word) => insert(db, word)));
    assert.deepEqual(
      results.map(({ status }) => status),
      given.map((word) => (word === "bad" ? "rejected" : "fulfilled")),
    );
    assert.deepEqual(
      await words(db),
      given.filter((word) => word !== "bad"),
    );
  }
});

test("[B3] no query shows what is not committed yet, and no transaction is acknowledged before the commit", async (context) => {
  const { db, ran } = await openCounted(context);
  await words(db);
  const isInserted = Promise.withResolvers<void>();
  const mayEnd = Promise.withResolvers<void>();
  let acknowledged = 0;
  const first = insert(db, "first").then(() => (acknowledged += 1));
  const second = db.transaction().execute(async (tx) => {
    await sql`insert into t (word) values ('second')`.execute(tx);
    isInserted.resolve();
    await mayEnd.promise;
  });
  await isInserted.promise;
  assert.deepEqual(await words(db), []);
  assert.equal(acknowledged, 0);
  mayEnd.resolve();
  await Promise.all([first, second]);
  assert.equal(ran.filter((text) => text === "commit").length, 1);
  assert.deepEqual(await words(db), ["first", "second"]);
});

test("[B3] if the shared commit fails, every transaction fails, and later ones succeed", async (context) => {
  const { db } = await openCounted(context);
  await sql`create table child (t integer references t (id) deferrable initially deferred)`.execute(db);
  const orphan = db.transaction().execute(async (tx) => sql`insert into child (t) values (99)`.execute(tx));
  const results = await Promise.allSettled([insert(db, "a"), orphan, insert(db, "b")]);
  assert.deepEqual(
    results.map(({ status }) => status),
    ["rejected", "rejected", "rejected"],
  );
  await insert(db, "c");
  assert.deepEqual(await words(db), ["c"]);
});

test("[K5] a caller that changes the handle has it alone", async (context) => {
  const { db, ran } = await openCounted(context);
  const alone = db.connection().execute(async (connection) => {
    await sql`pragma synchronous = normal`.execute(connection);
    try {
      await insert(connection, "alone");
    } finally {
      await sql`pragma synchronous = full`.execute(connection);
    }
  });
  await Promise.all([insert(db, "before"), alone, insert(db, "after")]);
  const order = ran.filter((text) => text.startsWith("pragma") || text === "commit" || text === "begin immediate");
  const [from, to] = [order.indexOf("pragma synchronous = normal"), order.indexOf("pragma synchronous = full")];
  assert.deepEqual(order.slice(from + 1, to), ["begin immediate", "commit"]);
  assert.equal((await words(db)).length, 3);
});
