/** What PostgreSQL's driver does while the server restarts, and with connections that break at any moment of a request (B3, B4). */
import assert from "node:assert/strict";
import { after, before, test, type TestContext } from "node:test";
import pg from "pg";
import type { User } from "../../../domain/caller.ts";
import type { PairingCode } from "../../../domain/device.ts";
import type { AptoveError } from "../../../domain/errors.ts";
import { newId } from "../../../domain/ids.ts";
import { cuts, startCuttingProxy, type CuttingProxy } from "../../../../testing/cutting-proxy.ts";
import { runStatements, startPostgres, type TestPostgres } from "../../../../testing/postgres.ts";
import { hasCode } from "../../../../testing/refusals.ts";
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
import { dataVersion } from "../migrations/migrations.ts";
import { openPostgresRecords, type PostgresOptions } from "./postgres.ts";

let server: TestPostgres;
before(async () => {
  server = await startPostgres();
});
after(() => server.stop());

/** Opens a store in a schema of its own, and a proxy between both. */
async function openBehindProxy(
  context: TestContext,
  options: Omit<PostgresOptions, "url"> = {},
  { url } = server,
): Promise<{ store: RecordStore; proxy: CuttingProxy }> {
  const proxy = await startCuttingProxy(url);
  context.after(() => proxy.stop());
  const store = await openPostgresRecords({ schema: `test ${(schemas += 1)}`, ...options, url: proxy.url });
  context.after(() => store.close());
  return { store, proxy };
}
let schemas = 0;

/** Replaces how every connection sends a query. `send` sends it as it is, or another text on the same connection. */
function replaceQueries(
  context: TestContext,
  ask: (text: string, send: (other?: string) => Promise<unknown>) => Promise<unknown>,
): void {
  const query = pg.Client.prototype.query as (...given: unknown[]) => Promise<unknown>;
  const client = pg.Client.prototype as unknown as Record<string, never>;
  context.mock.method(client, "query", function asked(this: unknown, ...given: unknown[]) {
    return ask(String(given[0]), (other) => query.apply(this, other === undefined ? given : [other]));
  } as never);
}

test("[B4] a store survives the loss of its connections", async (context) => {
  const { store } = await openBehindProxy(context);
  const session = await startSession(store);
  await Promise.all(Array.from({ length: 8 }, () => store.sessions.get(session.id)));
  await runStatements(
    server.url,
    "select pg_terminate_backend(pid, 5000) from pg_stat_activity where pid <> pg_backend_pid() and backend_type = 'client backend'",
  );
  await store.sessions
    .get(session.id)
    .catch((error: unknown) => assert.equal((error as { code: string }).code, "storage_failed"));
  await runSampleTurn(store, session.id);
});

test("[B1] a new connection waits once for what it begins with", async (context) => {
  const order: string[] = [];
  replaceQueries(context, async (text, send) => {
    const what = /set_config|pg_advisory_lock|stats_reset/.exec(text)?.[0];
    if (what !== undefined) order.push(`${what} sent`);
    const answer = await send();
    if (what !== undefined) order.push("answered");
    return answer;
  });
  await openBehindProxy(context);
  assert.deepEqual(order.slice(0, 4), ["set_config sent", "stats_reset sent", "pg_advisory_lock sent", "answered"]);
});

test("[R1] [R2] a step that is inserted again while another server takes the turn is refused, as any step then", async (context) => {
  const { store } = await openBehindProxy(context);
  const opening = openingOf(draftOf(await startSession(store)), { leaseMs: 600_000 });
  const turn = await openSampleTurn(store, opening);
  const step = stepOf(turn.id, 1);
  assert.equal(await store.turns.insertStep(step, turn.runnerId), true);
  replaceQueries(context, async (text, send) => {
    const looks = text.startsWith("select") && text.includes('"steps"."doc"');
    if (looks) await send("begin read write; update turns set runner_id = 'rescuer'; commit");
    return await send();
  });
  assert.equal(await store.turns.insertStep(step, turn.runnerId), false);
  assert.equal(await store.turns.insertStep(step, "rescuer"), true);
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
  const { store, proxy } = await openBehindProxy(context);
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

/** Runs a turn of one step, and pairs a device. Each change is made through `ask`, must return what it returns at the first time, and counts once. */
async function runAndPair(store: RecordStore, ask: <T>(change: () => Promise<T>) => Promise<T>): Promise<void> {
  const session = await startSession(store);
  const turn = await ask(() => openSampleTurn(store, openingOf(draftOf(session), { leaseMs: 600_000 })));
  assert.equal(turn.sequence, 1);
  const step = stepOf(turn.id, 1);
  assert.equal(await ask(() => store.turns.insertStep(step, turn.runnerId)), true);
  assert.deepEqual(await store.turns.listSteps(turn.id), [step]);
  const { user, code, claim } = pairingOf();
  await store.people.insertUser(user);
  await store.devices.insertCode(code);
  const { outcome } = await ask(() => store.devices.claimCode(claim));
  assert.deepEqual([outcome, (await store.keys.get(claim.key.id))?.userId], ["claimed", user.id]);
  const finish = turnFinishOf(completedSample(turn, { digest: "d1" }));
  assert.deepEqual(await ask(() => store.turns.finish(finish)), { outcome: "finished" });
  assert.equal((await store.turns.get(turn.id))?.status, "completed");
  assert.equal((await store.sessions.get(session.id))?.tokensTotal, 500);
}

/** However long a server takes to start, it is asked. */
const patient = { settleMs: 600_000, retryMs: 600_000 };

test("[B3] [P3] [R2] [T13] what a request did is found, although the server is away for longer than its outcome is asked for", async (context) => {
  const { store, proxy } = await openBehindProxy(context, { ...patient, settleMs: 0 });
  for (const cut of ["before", "after"] as const) {
    await runAndPair(store, async (change) => {
      const isDown = proxy.cutAndGoDown(cut);
      const changing = change();
      await isDown;
      proxy.comeBack();
      return await changing;
    });
  }
});

for (const cut of ["before", "after"] as const) {
  test(`[B3] [R6] [P3] a transaction whose number the server may have given to another one is not taken for committed (${cut} the commit)`, async (context) => {
    const own = await startPostgres();
    context.after(() => own.stop());
    const { store, proxy } = await openBehindProxy(context, patient, own);
    // The log of the server has what was committed, and nothing else.
    await onlyWriteCommits(own);
    await runAndPair(store, async (change) => {
      const isDown = proxy.cutAndGoDown(cut);
      const changing = change();
      await isDown;
      await own.crash();
      await own.start();
      await useNumbers(own, 50);
      proxy.comeBack();
      return await changing;
    });
  });
}

test("[B3] [R6] [P3] what a promoted standby has lost is done again, and counts once", async (context) => {
  const own = await startPostgres();
  context.after(() => own.stop());
  const { store, proxy } = await openBehindProxy(context, patient, own);
  await runAndPair(store, async (change) => {
    const promote = await own.leaveStandby();
    const isDown = proxy.cutAndGoDown("begun");
    const changing = change();
    await isDown;
    await own.crash();
    await promote();
    // The number of the transaction is that of another one now.
    await useNumbers(own, 50);
    proxy.comeBack();
    return await changing;
  });
});

test("[B3] [B4] a turn is opened and ended although its connection breaks several times, with room for one in the pool", async (context) => {
  const { store, proxy } = await openBehindProxy(context, { poolMax: 1, connectMs: 500 });
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
  const { store } = await openBehindProxy(context);
  const session = await startSession(store);
  const finished = await runSampleTurn(store, session.id);
  const stored = await store.sessions.get(session.id);
  const cancelled = Object.assign(new Error("canceling statement due to user request"), { code: "57014" });
  replaceQueries(context, (text, send) => (text.startsWith("begin") ? Promise.reject(cancelled) : send()));
  const opening = openingOf(draftOf(stored ?? assert.fail()));
  await assert.rejects(store.turns.open(opening), { code: "storage_failed" });
  await assert.rejects(store.turns.finish(turnFinishOf({ ...finished, digest: "late" })), { code: "storage_failed" });
  context.mock.restoreAll();
  assert.deepEqual(await store.sessions.get(session.id), stored);
  assert.equal(await store.turns.get(opening.turn.id), null);
  assert.deepEqual(await store.turns.get(finished.id), finished);
  assert.equal((await store.turns.open(opening)).outcome, "opened");
});

async function onlyWriteCommits(own: TestPostgres): Promise<void> {
  await runStatements(own.url, "alter system set wal_writer_delay = '10s'");
  await runStatements(own.url, "select pg_reload_conf()");
}

/** Begins transactions, and commits them. */
async function useNumbers({ url }: TestPostgres, count: number): Promise<void> {
  for (let used = 0; used < count; used += 1) await runStatements(url, "select pg_current_xact_id()");
}

test("[B3] an import, which reads its turns once, is stored fully or not at all when its commit is cut off", async (context) => {
  const { store, proxy } = await openBehindProxy(context);
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
  const { store, proxy } = await openBehindProxy(context);
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
  const { store, proxy } = await openBehindProxy(context, { retryMs: 500 });
  const down = proxy.goDown();
  const refused = assert.rejects(store.sessions.get(newId()), (error: AptoveError) => {
    assert.deepEqual([error.code, error.facts], ["records_unavailable", { retryAfterSeconds: 1 }]);
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
