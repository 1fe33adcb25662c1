import assert from "node:assert/strict";
import { after, before, test, type TestContext } from "node:test";
import pg from "pg";
import type { User } from "../../../domain/caller.ts";
import type { PairingCode } from "../../../domain/device.ts";
import type { AptoveError } from "../../../domain/errors.ts";
import { newId } from "../../../domain/ids.ts";
import { cuts, startCuttingProxy } from "../../../../testing/cutting-proxy.ts";
import { startPostgres, type TestPostgres } from "../../../../testing/postgres.ts";
import { canMount } from "../../../../testing/small-disk.ts";
import { hasCode } from "../../../../testing/refusals.ts";
import { recordStoreSuite } from "../../record-store.suite.ts";
import type { ImportedTurn, PairingClaim, RecordStore } from "../../record-store.ts";
import {
  ada,
  completedSample,
  draftOf,
  turnFinishOf,
  noon,
  openSampleTurn,
  openingOf,
  sampleOrgId,
  pendingOf,
  requestOf,
  sampleRunnerId,
  runSampleTurn,
  sessionOf,
  startSession,
  stepOf,
} from "../../suite/samples.ts";
import { recordsFault } from "../faults.ts";
import { dataVersion, migrations, type Migration } from "../migrations/migrations.ts";
import { openPostgresRecords, readPostgresVersion } from "./postgres.ts";

let server: TestPostgres;
before(async () => {
  server = await startPostgres();
  // Deleted rows keep their space, so the next test that fills a table makes it grow.
  await tell("alter system set autovacuum = off");
  await tell("select pg_reload_conf()");
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
  await tell(`
    set session_replication_role = replica;
    do $$ declare found text; begin
      for found in select tablename from pg_tables where schemaname = ${name} and tablename <> 'schema_version' loop
        execute format('delete from %I.%I', ${name}, found);
      end loop;
    end $$`);
}

async function tell(statements: string, url = server.url): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query(statements);
  await client.end();
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

test("[B4] a store survives the loss of its connections", async (context) => {
  const place = newPlace();
  const store = await openPostgresRecords(place);
  context.after(() => store.close());
  const session = await startSession(store);
  const client = await connect(context, place.schema);
  await Promise.all(Array.from({ length: 8 }, () => store.sessions.get(session.id)));
  await client.query(
    "select pg_terminate_backend(pid, 5000) from pg_stat_activity where pid <> pg_backend_pid() and backend_type = 'client backend'",
  );
  await store.sessions
    .get(session.id)
    .catch((error: unknown) => assert.equal((error as { code: string }).code, "storage_failed"));
  await runSampleTurn(store, session.id);
});

test("[B1] a server that cannot be reached is storage_failed, and the error shows no secret", async () => {
  const url = "postgres://me:s3cret@localhost/none?host=/nowhere";
  await assert.rejects(openPostgresRecords({ url }), (error: { code: string; message: string }) => {
    assert.equal(error.code, "storage_failed");
    assert.doesNotMatch(error.message, /s3cret/);
    return true;
  });
});

/** Calls every method that changes data, in an order in which each has something to change, and checks each result of a first call or a retry. */
async function changeEverything(
  store: RecordStore,
  ask: <T>(method: () => Promise<T>) => Promise<T>,
): Promise<unknown> {
  const session = sessionOf({ headTurnId: null });
  await ask(() => store.sessions.insert(session));
  assert.equal((await ask(() => store.sessions.update(session.id, { name: "Set" }, noon)))?.name, "Set");
  const draft = draftOf(session, { id: session.id });
  const idempotency = requestOf(draft, { key: newId() });
  const opened = await ask(() => store.turns.open(openingOf(draft, { idempotency, leaseMs: 600_000 })));
  assert.ok(opened.outcome === "opened", JSON.stringify(opened));
  const { turn } = opened;
  assert.equal(await ask(() => store.turns.insertStep(stepOf(turn.id, 1), sampleRunnerId)), true);
  const renewal = { runnerId: sampleRunnerId, turnIds: [turn.id], leaseMs: 600_000 };
  assert.deepEqual(await ask(() => store.runners.renewLeases(renewal)), [turn.id]);
  const control = { id: newId(), turnId: turn.id, kind: "steer", text: "so", userId: ada, at: noon } as const;
  assert.equal(await ask(() => store.runners.insertControl(control)), true);
  assert.deepEqual(await store.runners.listControls(sampleRunnerId), [control]);
  await ask(() => store.runners.deleteControls([control.id]));
  assert.deepEqual(await store.runners.listControls(sampleRunnerId), []);
  const end = turnFinishOf(completedSample(turn, { digest: "d1" }), {
    steps: [stepOf(turn.id, 2)],
    text: { instruction: "a", answer: "b" },
  });
  assert.deepEqual(await ask(() => store.turns.finish(end)), { outcome: "finished" });
  const second = await runSampleTurn(store, session.id);
  const move = { sessionId: session.id, from: second.id, to: turn.id, userId: ada, at: noon };
  assert.deepEqual(await ask(() => store.sessions.moveHead(move)), { outcome: "moved" });
  assert.notEqual(await ask(() => store.sessions.update(session.id, { archivedAt: noon }, noon)), null);

  const lost = await openSampleTurn(store, openingOf(draftOf(await startSession(store)), { leaseMs: 0 }));
  const taking = { runnerId: "rescuer", leaseMs: 600_000, deadRunnerIds: [], limit: 1, turnId: lost.id };
  assert.equal((await ask(() => store.runners.takeLostTurns(taking)))[0]?.turn.id, lost.id);
  const purged = await startSession(store);
  await runSampleTurn(store, purged.id);
  assert.equal(await ask(() => store.purges.purgeSession(purged.id, [])), true);

  const { user, code, claim } = pairingOf();
  assert.equal(await ask(() => store.people.insertUser(user)), true);
  await ask(() => store.devices.insertCode(code));
  assert.equal((await ask(() => store.devices.claimCode(claim))).outcome, "claimed");
  const { id } = claim.key;
  assert.equal(await ask(() => store.keys.update({ orgId: sampleOrgId, id }, { revokedAt: noon })), true);
  return {
    session: await store.sessions.get(session.id),
    statuses: (await store.turns.list(session.id, { limit: 10 })).map(({ status }) => status),
    steps: (await store.turns.listSteps(turn.id)).map(({ index }) => index),
    moves: (await store.sessions.listHeadMoves(session.id)).length,
    purged: await store.sessions.get(purged.id),
  };
}

/** A user with a code, and a device that claims it. */
function pairingOf(): { user: User; code: PairingCode; claim: PairingClaim } {
  const user: User = {
    ...{ id: newId(), orgId: sampleOrgId, name: "Ada", role: "admin", createdAt: noon },
    ...{ email: null, externalId: null, disabledAt: null },
  };
  const code: PairingCode = {
    ...{ id: newId(), orgId: sampleOrgId, userId: user.id, hash: newId(), createdAt: noon, expiresAt: noon + 10 },
    ...{ triesLeft: 5, claimedAt: null, keyId: null, workspaceId: null, label: "7K3M", roleMax: "admin" },
  };
  const key = {
    ...{ id: newId(), hash: newId(), name: "phone", prefix: "p", createdAt: noon },
    ...{ expiresAt: null, lastUsedAt: null, revokedAt: null, workspaceId: null, limits: null },
  };
  return { user, code, claim: { label: "7K3M", hash: code.hash, at: noon, key, deviceIds: [newId()] } };
}

test("[B3] [T13] a commit without a response is looked up: each request happens once and returns what happened", async (context) => {
  const place = newPlace();
  const proxy = await startCuttingProxy(server.url);
  context.after(() => proxy.stop());
  const store = await openPostgresRecords({ ...place, url: proxy.url });
  context.after(() => store.close());
  const plain = (found: unknown): unknown => JSON.parse(JSON.stringify(found).replaceAll(/[0-9a-f-]{36}/g, "id"));
  const expected = plain(await changeEverything(store, (method) => method()));
  for (const cut of cuts) {
    const found = await changeEverything(store, async (method) => {
      proxy.cutNext(cut);
      const answer = await method();
      assert.equal(proxy.isWaiting, false, `nothing was committed by ${String(method)}`);
      return answer;
    });
    assert.deepEqual(plain(found), expected, cut);
  }
});

for (const cut of ["before", "after"] as const) {
  test(`[B3] [R6] [P3] a transaction whose number the server may have given to another one is not taken for committed (${cut} the commit)`, async (context) => {
    const own = await startPostgres();
    context.after(() => own.stop());
    const proxy = await startCuttingProxy(own.url);
    context.after(() => proxy.stop());
    const store = await openPostgresRecords({ url: proxy.url });
    context.after(() => store.close());
    const session = await startSession(store);
    const turn = await openSampleTurn(store, openingOf(draftOf(session), { leaseMs: 600_000 }));
    // The log of the server has what was committed, and nothing else.
    await onlyWriteCommits(own);
    const crashDuring = async <T>(change: () => Promise<T>): Promise<T> => {
      const isDown = proxy.cutAndGoDown(cut);
      const changing = change();
      await isDown;
      await own.crash();
      await own.start();
      await useNumbers(own, 50);
      proxy.comeBack();
      return await changing;
    };
    const step = stepOf(turn.id, 1);
    assert.equal(await crashDuring(() => store.turns.insertStep(step, turn.runnerId)), true);
    assert.deepEqual(await store.turns.listSteps(turn.id), [step]);
    const { user, code, claim } = pairingOf();
    await store.people.insertUser(user);
    await store.devices.insertCode(code);
    const { outcome } = await crashDuring(() => store.devices.claimCode(claim));
    assert.deepEqual([outcome, (await store.keys.get(claim.key.id))?.userId], ["claimed", user.id]);
    const finish = turnFinishOf(completedSample(turn, { digest: "d1" }));
    assert.deepEqual(await crashDuring(() => store.turns.finish(finish)), { outcome: "finished" });
    assert.equal((await store.turns.get(turn.id))?.status, "completed");
  });
}

test("[B3] [B4] a turn is opened and ended although its connection breaks several times, with room for one in the pool", async (context) => {
  const proxy = await startCuttingProxy(server.url);
  context.after(() => proxy.stop());
  const store = await openPostgresRecords({ ...newPlace(), url: proxy.url, poolMax: 1, connectMs: 500 });
  context.after(() => store.close());
  for (const cut of cuts) {
    const session = await startSession(store);
    const opening = openingOf(draftOf(session), { leaseMs: 600_000 });
    proxy.cutNext(cut, 3);
    const turn = await openSampleTurn(store, opening);
    assert.deepEqual(await store.turns.get(turn.id), turn);
    // An opening that committed is looked for, and not sent again.
    proxy.cutNext(cut, 3);
    const finish = turnFinishOf(completedSample(turn, { digest: "d1" }));
    assert.deepEqual(await store.turns.finish(finish), { outcome: "finished" });
    proxy.cutNext(cut, 0);
    assert.equal((await store.sessions.get(session.id))?.tokensTotal, 500, cut);
  }
});

test("[B3] [T5] nothing of a turn is stored if its transaction cannot begin and the connection lives", async (context) => {
  const store = await openPostgresRecords(newPlace());
  context.after(() => store.close());
  const session = await startSession(store);
  const finished = await runSampleTurn(store, session.id);
  const stored = await store.sessions.get(session.id);
  const query = pg.Client.prototype.query as (...given: unknown[]) => Promise<unknown>;
  const cancelled = Object.assign(new Error("canceling statement due to user request"), { code: "57014" });
  const client = pg.Client.prototype as unknown as Record<string, never>;
  context.mock.method(client, "query", function refuse(this: unknown, ...given: unknown[]) {
    return String(given[0]).startsWith("begin") ? Promise.reject(cancelled) : query.apply(this, given);
  } as never);
  const opening = openingOf(draftOf(stored ?? assert.fail()));
  await assert.rejects(store.turns.open(opening), { code: "storage_failed" });
  await assert.rejects(store.turns.finish(turnFinishOf({ ...finished, digest: "late" })), { code: "storage_failed" });
  context.mock.restoreAll();
  assert.deepEqual(await store.sessions.get(session.id), stored);
  assert.equal(await store.turns.get(opening.turn.id), null);
  assert.deepEqual(await store.turns.get(finished.id), finished);
  assert.equal((await store.turns.open(opening)).outcome, "opened");
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

async function onlyWriteCommits(own: TestPostgres): Promise<void> {
  await tell("alter system set wal_writer_delay = '10s'", own.url);
  await tell("select pg_reload_conf()", own.url);
}

/** Begins transactions, and commits them. */
async function useNumbers({ url }: TestPostgres, count: number): Promise<void> {
  for (let used = 0; used < count; used += 1) await tell("select pg_current_xact_id()", url);
}

test("[B3] an import, which reads its turns once, is stored fully or not at all when its commit is cut off", async (context) => {
  const proxy = await startCuttingProxy(server.url);
  context.after(() => proxy.stop());
  const store = await openPostgresRecords({ ...newPlace(), url: proxy.url });
  context.after(() => store.close());
  for (const cut of cuts) {
    const session = { ...sessionOf(), lastSequence: 1 };
    const turn = completedSample(pendingOf(draftOf(session), 1));
    async function* turns(): AsyncGenerator<ImportedTurn> {
      yield { turn, steps: [], text: { instruction: "a", answer: "b" } };
    }
    proxy.cutNext(cut);
    const importing = store.imports.insert({ sessions: [session], growths: [], parents: [], turns: turns() });
    const reached = cut === "after" || cut === "begun";
    if (reached) assert.deepEqual(await importing, { outcome: "imported" });
    else await assert.rejects(importing, { code: "storage_failed" });
    assert.deepEqual(await store.turns.get(turn.id), reached ? turn : null);
  }
});

test("[B4] a request that is sent while the server restarts waits for it", async (context) => {
  const proxy = await startCuttingProxy(server.url);
  context.after(() => proxy.stop());
  const store = await openPostgresRecords({ ...newPlace(), url: proxy.url });
  context.after(() => store.close());
  const session = await startSession(store);
  const down = proxy.goDown();
  const asked = Promise.all([store.sessions.get(session.id), runSampleTurn(store, session.id)]);
  await down;
  proxy.comeBack();
  const [found, turn] = await asked;
  // Either request may run first when the server is back.
  assert.equal(found?.id, session.id);
  assert.equal(turn.sequence, 1);
});

test("[B4] a server that stays away is records_unavailable, with the time to wait before a retry", async (context) => {
  const proxy = await startCuttingProxy(server.url);
  context.after(() => proxy.stop());
  const store = await openPostgresRecords({ ...newPlace(), url: proxy.url });
  context.after(() => store.close());
  const down = proxy.goDown();
  const refused = assert.rejects(store.sessions.get(newId()), (error: AptoveError) => {
    assert.deepEqual([error.code, error.facts], ["records_unavailable", { retryAfterSeconds: 5 }]);
    return true;
  });
  await Promise.all([down, refused]);
  proxy.comeBack();
  assert.equal(await store.sessions.get(newId()), null);
});

test("[B4] a program that starts while the server restarts says once that it waits, and starts when the server is back", async (context) => {
  const { url, crash, start, stop } = await startPostgres();
  context.after(stop);
  await crash();
  const reasons: string[] = [];
  const { promise: waiting, resolve } = Promise.withResolvers<void>();
  const onWait = (reason: unknown): void => {
    reasons.push(String(reason));
    resolve();
  };
  const opening = openPostgresRecords({ url, openMs: 60_000, onWait });
  await waiting;
  await start();
  const store = await opening;
  assert.match(reasons.join(), /^Error: connect (?:ENOENT|ECONNREFUSED)[^,]*$/);
  assert.equal((await store.storage.about()).version, dataVersion);
  await store.close();

  await crash();
  await assert.rejects(openPostgresRecords({ url, openMs: 100 }), hasCode("storage_failed", /ENOENT|ECONNREFUSED/));
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
