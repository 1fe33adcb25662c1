import assert from "node:assert/strict";
import { after, before, test, type TestContext } from "node:test";
import pg from "pg";
import { runStatements, startPostgres, type TestPostgres } from "../../../../testing/postgres.ts";
import { canMount } from "../../../../testing/small-disk.ts";
import { hasCode } from "../../../../testing/refusals.ts";
import { recordStoreSuite } from "../../record-store.suite.ts";
import {
  completedSample,
  draftOf,
  turnFinishOf,
  openSampleTurn,
  openingOf,
  runSampleTurn,
  sessionOf,
  startSession,
} from "../../suite/samples.ts";
import { recordsFault } from "../faults.ts";
import { dataVersion, migrations, type Migration } from "../migrations/migrations.ts";
import { openPostgresRecords, readPostgresVersion } from "./postgres.ts";

let server: TestPostgres;
before(async () => {
  server = await startPostgres();
  // Deleted rows keep their space, so the next test that fills a table makes it grow.
  await runStatements(server.url, "alter system set autovacuum = off");
  await runStatements(server.url, "select pg_reload_conf()");
});
after(() => server.stop());

/** Returns the location of one test's records: a schema of its own is as good as a database, and is quick to make. */
function newPlace(): { url: string; schema: string } {
  return { url: server.url, schema: `Test's "schema" ${(schemas += 1)}` };
}
let schemas = 0;

/** Connects to the server directly, with the schema's tables in the search path. */
async function connect(context: TestContext, schema: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: server.url });
  await client.connect();
  context.after(() => client.end());
  await client.query("select set_config('search_path', quote_ident($1), false)", [schema]);
  return client;
}

/** Removes the rows that the previous test left, because making the tables again takes longer than most tests. */
async function emptied(schema: string): Promise<void> {
  const name = pg.escapeLiteral(schema);
  // Foreign keys are triggers. The first setting disables them, so that the tables can be emptied in any order.
  await runStatements(
    server.url,
    `
    set session_replication_role = replica;
    do $$ declare found text; begin
      for found in select tablename from pg_tables where schemaname = ${name} and tablename <> 'schema_version' loop
        execute format('delete from %I.%I', ${name}, found);
      end loop;
    end $$`,
  );
}

let shared: { url: string; schema: string } | undefined;

recordStoreSuite("records in PostgreSQL", async (context) => {
  if (shared !== undefined) await emptied(shared.schema);
  const place = (shared ??= newPlace());
  const store = await openPostgresRecords(place);
  context.after(() => store.close());
  return { store, reopen: () => openPostgresRecords(place) };
});

test("[B2] a new schema that several stores open at once is migrated by one of them", async (context) => {
  const place = newPlace();
  const stores = await Promise.all([1, 2, 3, 4].map(() => openPostgresRecords(place)));
  context.after(() => Promise.all(stores.map((store) => store.close())));
  const [first, second] = stores;
  assert.ok(first !== undefined && second !== undefined);
  const session = await startSession(first);
  assert.deepEqual(await second.sessions.get(session.id), session);
});

test("[B2] without a schema, the user's search path decides where the tables are", async (context) => {
  const place = newPlace();
  const client = await connect(context, "public");
  await client.query("create role member login; create schema member authorization member");
  const url = server.url.replace("postgres@", "member@");
  const store = await openPostgresRecords({ url });
  context.after(() => store.close());
  const session = await startSession(store);
  const { rows } = await client.query("select id from member.sessions");
  assert.deepEqual(rows, [{ id: session.id }]);
  // This user may not create schemas, but can use an existing one.
  await assert.rejects(openPostgresRecords({ url, schema: place.schema }), { code: "storage_failed" });
  await (await openPostgresRecords({ url, schema: "member" })).close();
});

test("[B2] records of a newer version are refused and left unchanged", async (context) => {
  const place = newPlace();
  const store = await openPostgresRecords(place);
  await store.close();
  const client = await connect(context, place.schema);
  await client.query("update schema_version set version = version + 1, oldest = version + 1");
  await client.query("drop table runners");
  await assert.rejects(openPostgresRecords(place), { code: "data_newer" });
  const { rows } = await client.query("select version, to_regclass('runners') as runners from schema_version");
  assert.deepEqual(rows, [{ version: dataVersion + 1, runners: null }]);
});

test("[B3] a full disk is storage_full, and no transaction is written in part", async (context) => {
  const place = newPlace();
  const store = await openPostgresRecords(place);
  context.after(() => store.close());
  const client = await connect(context, place.schema);
  await client.query(`
    create function fill() returns trigger language plpgsql as
      $$ begin raise exception 'could not extend file' using errcode = 'disk_full'; end $$;
    create trigger full_disk before insert on turns execute function fill()`);
  const newSession = sessionOf();
  const opening = openingOf(draftOf(newSession), { newSession });
  await assert.rejects(store.turns.open(opening), { name: "AptoveError", code: "storage_full" });
  assert.equal(await store.sessions.get(newSession.id), null);
  await client.query("drop trigger full_disk on turns");
  await openSampleTurn(store, opening);
});

test("[H2] a probe finds that the disk of the database is full, although a row can still be changed", async (context) => {
  if (!canMount()) return context.skip("this machine does not allow a user to mount a file system");
  const { url, stop } = await startPostgres({ diskSize: "128m" });
  const store = await openPostgresRecords({ url });
  context.after(() => store.close());
  await store.storage.probe();
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  context.after(() => client.end());
  context.after(stop);
  // The log of the database has room left in its first segment, so only what needs new room fails.
  const { rows } = await client.query<{ folder: string }>("select current_setting('data_directory') as folder");
  const fill = (megabytes: number) =>
    client.query(`
      copy (select repeat('x', 1000000) from generate_series(1, ${megabytes})) to '${rows[0]?.folder}/filler'`);
  await assert.rejects(fill(200), { code: "53100" });
  await client.query("update store_facts set value = 'x' where name = 'probe'");
  await assert.rejects(store.storage.probe(), hasCode("storage_full", /disk of the database is full: .*No space left/));
  await fill(0);
  await store.storage.probe();
});

test("[H2] a probe leaves a database alone whose operator allows no temporary files", async (context) => {
  const client = await connect(context, "public");
  await client.query("create role frugal login; create schema frugal authorization frugal");
  await client.query("alter role frugal set temp_file_limit = 0");
  const store = await openPostgresRecords({ url: server.url.replace("postgres@", "frugal@"), schema: "frugal" });
  context.after(() => store.close());
  await store.storage.probe();
});

test("[B1] a server that cannot be reached is storage_failed, and the error shows no secret", async () => {
  const url = "postgres://me:s3cret@localhost/none?host=/nowhere";
  await assert.rejects(openPostgresRecords({ url, openMs: 0 }), (error: { code: string; message: string }) => {
    assert.equal(error.code, "storage_failed");
    assert.doesNotMatch(error.message, /s3cret/);
    return true;
  });
});

test("[R3] an end that was sent while another server sends a message waits for it, and takes it first", async (context) => {
  const place = newPlace();
  const store = await openPostgresRecords(place);
  context.after(() => store.close());
  const turn = await openSampleTurn(store, openingOf(draftOf(await startSession(store)), { leaseMs: 600_000 }));
  const sender = await connect(context, place.schema);
  await sender.query("begin");
  await sender.query("select id from turns where id = $1 for update", [turn.id]);
  await sender.query("insert into controls (id, turn_id, sent_at, doc) values ('c1', $1, 0, '{}')", [turn.id]);
  const ending = store.turns.finish(turnFinishOf(completedSample(turn), { controls: "take first" }));
  const watcher = await connect(context, place.schema);
  const isWaiting =
    "select 1 from pg_stat_activity where wait_event_type = 'Lock' and query like 'select id from turns%'";
  while ((await watcher.query(isWaiting)).rows.length === 0);
  await sender.query("commit");
  assert.deepEqual(await ending, { outcome: "controlled" });
  assert.equal((await store.turns.get(turn.id))?.status, "pending");
  await store.runners.deleteControls(["c1"]);
  const end = turnFinishOf(completedSample(turn), { controls: "take first" });
  assert.deepEqual(await store.turns.finish(end), { outcome: "finished" });
});

test("[B4] a wrong user, password or database is records_refused at once, and the error shows no secret", async () => {
  const wrong = (change: (url: URL) => void): string => {
    const url = new URL(server.url);
    change(url);
    return url.href;
  };
  const urls = [wrong((url) => (url.username = "not-here")), wrong((url) => (url.pathname = "/not-there"))];
  for (const url of urls) {
    const waits: unknown[] = [];
    const opening = openPostgresRecords({ url, openMs: 60_000, onWait: (reason) => waits.push(reason) });
    await assert.rejects(opening, hasCode("records_refused", /does not exist/));
    assert.deepEqual(waits, []);
  }
  // The servers of tests ask for no password.
  const refusal = Object.assign(new Error('password authentication failed for user "ada"'), { code: "28P01" });
  assert.equal(recordsFault("the records could not be opened", refusal).code, "records_refused");
});

test("[B2] a program continues with data of the next version if that version only added something, and is refused otherwise", async (context) => {
  const place = newPlace();
  const running = await openPostgresRecords(place);
  context.after(() => running.close());
  const session = await startSession(running);
  const nextOf = (isAdditive: boolean): Migration => ({
    statements: () => ["alter table sessions add column mood text", "create table moods (id text primary key)"],
    ...(isAdditive && { isAdditive }),
  });
  const halfway: Migration = { statements: () => ["create table halfway (id text)", "create table halfway (id text)"] };
  await assert.rejects(openPostgresRecords({ ...place, migrations: [...migrations, halfway] }), {
    code: "storage_failed",
  });
  const client = await connect(context, place.schema);
  const { rows } = await client.query("select version, oldest, to_regclass('halfway') as halfway from schema_version");
  assert.deepEqual(rows, [{ version: dataVersion, oldest: 1, halfway: null }], "nothing was changed");

  const next = await openPostgresRecords({ ...place, migrations: [...migrations, nextOf(true)] });
  context.after(() => next.close());
  const about = { version: dataVersion + 1, oldest: 1 };
  assert.deepEqual(await next.storage.about(), {
    ...(await running.storage.about()),
    ...about,
    known: dataVersion + 1,
  });
  // The program that runs continues, and a new one of its version can start.
  const turn = await runSampleTurn(running, session.id);
  const started = await openPostgresRecords(place);
  context.after(() => started.close());
  assert.deepEqual(await started.turns.get(turn.id), turn);
  assert.equal((await runSampleTurn(next, session.id)).sequence, 2);
  assert.equal((await started.storage.about()).version, dataVersion + 1, "it leaves the version as it is");

  const last = [...migrations, nextOf(true), { statements: () => ["alter table moods add column x text"] }];
  await (await openPostgresRecords({ ...place, migrations: last })).close();
  await assert.rejects(openPostgresRecords(place), { code: "data_newer" });
  await assert.rejects(openPostgresRecords({ ...place, migrations: last.slice(0, -1) }), { code: "data_newer" });
});

test("[B2] a migration that would have to wait too long fails with that reason, changes nothing, and blocks no other process", async (context) => {
  const place = newPlace();
  await (await openPostgresRecords(place)).close();
  const client = await connect(context, place.schema);
  await client.query("begin; lock table sessions in access share mode");
  const next: Migration = { statements: () => ["alter table sessions add column mood text"] };
  const opening = openPostgresRecords({ ...place, migrations: [...migrations, next], lockMs: 50 });
  await assert.rejects(opening, /start again/);
  await client.query("rollback");
  const { rows } = await client.query("select version from schema_version");
  assert.deepEqual(rows, [{ version: dataVersion }]);
});

test("[B2] [L1] the version of an empty database is read without writing to it", async (t) => {
  const place = newPlace();
  assert.equal((await readPostgresVersion(place)).version, 0);
  const client = await connect(t, place.schema);
  const { rows } = await client.query("select 1 from pg_namespace where nspname = $1", [place.schema]);
  assert.deepEqual(rows, []);
  const records = await openPostgresRecords(place);
  await records.close();
  assert.equal((await readPostgresVersion(place)).version, dataVersion);
});
