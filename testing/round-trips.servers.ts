/** What a turn waits for where every store is elsewhere: PostgreSQL and S3 (a fake server). */
import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import pg from "pg";
import { isTerminal, joinDeltas, type SequencedEvent } from "../src/domain/events.ts";
import { openAiMount } from "../src/compose/mounts/openai.ts";
import { httpDoor } from "../src/doors/http/door.ts";
import { createAptove } from "../src/compose.ts";
import { startFakeS3 } from "./fake-s3/fake-s3.ts";
import { startPostgres } from "./postgres.ts";
import { temporaryFolder } from "./temporary-folder.ts";

/** How many sessions stream at the same time. */
const sessions = 64;

/** A request to a store. */
interface RoundTrip {
  what: string;
  from: number;
  to: number;
}

interface Noted<Name> {
  method: Name;
  nameOf(first: unknown): string;
  /** Holds a request back until it resolves. */
  hold?(what: string): Promise<void>;
}

/** Notes when the requests of `owner[method]` were sent and answered. */
function noted<Name extends string>(
  context: TestContext,
  owner: Record<Name, unknown>,
  { method, nameOf, hold = async () => {} }: Noted<Name>,
): RoundTrip[] {
  const trips: RoundTrip[] = [];
  const original = owner[method] as (...given: unknown[]) => Promise<unknown>;
  context.mock.method(owner as Record<string, never>, method, async function asked(this: unknown, ...given: unknown[]) {
    const trip: RoundTrip = { what: nameOf(given[0]), from: performance.now(), to: Number.POSITIVE_INFINITY };
    trips.push(trip);
    try {
      await hold(trip.what);
      return await original.apply(this, given);
    } finally {
      trip.to = performance.now();
    }
  } as never);
  return trips;
}

/** Returns the requests of which each was sent after the answer to the one before it. */
function oneBehindTheOther(trips: readonly RoundTrip[]): string[] {
  const chain: string[] = [];
  let at = 0;
  for (const { what, from, to } of trips.toSorted((a, b) => a.to - b.to)) {
    if (from < at) continue;
    chain.push(what);
    at = to;
  }
  return chain;
}

/** An engine over PostgreSQL and S3, and a function that starts another one over the same stores. */
async function world(context: TestContext) {
  const postgres = await startPostgres();
  const fake = await startFakeS3();
  const dataDir = await temporaryFolder(context);
  const env = {
    APTOVE_RECORDS_URL: postgres.url,
    APTOVE_BLOBS_URL: `s3://${fake.bucket}/team`,
    APTOVE_BLOBS_ENDPOINT: fake.endpoint,
    AWS_REGION: fake.region,
    AWS_ACCESS_KEY_ID: fake.accessKeyId,
    AWS_SECRET_ACCESS_KEY: fake.secretAccessKey,
  };
  const overrides = { limits: { concurrent_runs_per_user_max: sessions } };
  const started = [await createAptove({ dataDir, env, overrides })];
  context.after(async () => {
    await Promise.all(started.map(({ engine }) => engine.close()));
    await Promise.all([postgres.stop(), fake.close()]);
  });
  const [aptove = assert.fail()] = started;
  const { engine } = aptove;
  const another = async () => {
    const other = await createAptove({ dataDir: await temporaryFolder(context), env, overrides });
    started.push(other);
    return other.engine;
  };
  return { aptove, engine, owner: await engine.keys.owner(), another };
}

/** Holds the run and the state back until both are on their way, so that they are side by side however slow the machine is. */
function untilBothAreSent(): (url: string) => Promise<void> {
  const both = Promise.withResolvers<void>();
  const sent = new Set<string>();
  return async (url) => {
    const [kind] = /(?:run|state)\.json/.exec(url) ?? [];
    if (kind === undefined) return;
    if (sent.add(kind).size === 2) both.resolve();
    await both.promise;
  };
}

/** Notes the statements to PostgreSQL and the requests to S3. */
function notedStores(
  context: TestContext,
  hold: (url: string) => Promise<void> = async () => {},
): Record<"statements" | "requests", RoundTrip[]> {
  const statements = noted(context, pg.Client.prototype as unknown as Record<"query", unknown>, {
    method: "query",
    nameOf: (query) => (typeof query === "string" ? query : (query as { text: string }).text).trim(),
  });
  return {
    statements,
    requests: noted(context, globalThis, {
      method: "fetch",
      nameOf: (request) => (request as Request).url,
      hold,
    }),
  };
}

/** The live log is written beside the turn, and the others belong to no turn: among them is what a new connection begins with. */
const notOfTheTurn =
  /live_events|pg_notify|^listen|from controls limit 1|runners|lease_expires_at =|set_config|pg_advisory_lock|stats_reset/i;

test("[B1] over PostgreSQL and S3 a turn waits for two requests to S3, and for two to the database", async (t) => {
  const { engine, owner } = await world(t);
  const first = await engine.turns.run(owner, { instruction: "one" });
  const { sessionId } = first;
  await first.finished;
  await (
    await engine.turns.run(owner, { instruction: "two", sessionId })
  ).finished;
  const { statements, requests } = notedStores(t, untilBothAreSent());
  const turn = await (await engine.turns.run(owner, { instruction: "three", sessionId })).finished;
  assert.equal(turn.status, "completed");
  const kinds = oneBehindTheOther(requests).map((url) => /(opening|run|state)\.json/.exec(url)?.[1] ?? url);
  assert.equal(kinds.length, 2, kinds.join());
  assert.equal(requests.length, 3);
  const waits = oneBehindTheOther(statements.filter(({ what }) => !notOfTheTurn.test(what)));
  assert.deepEqual(
    waits.map((text) => text.slice(0, 5)),
    ["begin", "begin"],
    waits.join("\n"),
  );
});

test("[B1] [H1] [O1] the routes that wait for a turn read nothing of it after it has ended", async (t) => {
  const { aptove, owner } = await world(t);
  const { engine, report } = aptove;
  const mount = openAiMount(aptove);
  t.after(() => mount.close());
  const door = httpDoor({ engine, report, mounts: [mount], authenticate: async () => owner });
  const post = async (path: string, body: object): Promise<Record<string, string>> => {
    const headers = { "content-type": "application/json", authorization: "Bearer aptove_owner" };
    const response = await door.fetch(
      new Request(`http://localhost${path}`, { method: "POST", headers, body: JSON.stringify(body) }),
    );
    assert.equal(response.status, 200, path + (await response.clone().text()));
    return (await response.json()) as Record<string, string>;
  };
  const { sessionId } = await post("/api/ai/agent/execute", { instruction: "one" });
  await post("/api/ai/agent/execute", { instruction: "two", sessionId });
  const first = await post("/v1/responses", { model: "offline-1", input: "one" });
  const messages = [{ role: "user", content: "one" }];
  // A model is looked for in the contexts. A response continues another one: its turn, the session, and what runs there.
  const routes = [
    ["/api/ai/agent/execute", { instruction: "three", sessionId }, 0],
    ["/v1/responses", { model: "offline-1", input: "two", previous_response_id: first["id"] }, 4],
    ["/v1/chat/completions", { model: "offline-1", messages }, 1],
  ] as const;
  for (const [path, body, reads] of routes) {
    const { statements, requests } = notedStores(t);
    await post(path, body);
    const waits = oneBehindTheOther(statements.filter(({ what }) => !notOfTheTurn.test(what)));
    assert.deepEqual(
      [waits.length, waits.at(-2)?.slice(0, 5), waits.at(-1)?.slice(0, 5)],
      [reads + 2, "begin", "begin"],
      `${path}\n${waits.join("\n")}`,
    );
    assert.equal(requests.length, 3, path);
    t.mock.restoreAll();
  }
});

test("[S9] [G1] a turn that its server prepares from memory follows what another server changed since", async (t) => {
  const { engine, owner, another } = await world(t);
  const other = await another();
  const { sessionId, finished } = await engine.turns.run(owner, { instruction: "one" });
  await finished;
  const next = async (instruction: string) => {
    const turn = await (await engine.turns.run(owner, { instruction, sessionId })).finished;
    assert.equal(turn.status, "completed");
    return { settings: turn.manifest.settings, context: turn.manifest.agentContext };
  };
  const { settings, context } = await next("two");
  await other.sessions.update(owner, sessionId, { settings: { maxOutputTokens: 900 } });
  assert.deepEqual(await next("three"), { settings: { ...settings, maxOutputTokens: 900 }, context });
  await other.sessions.update(owner, sessionId, { settings: {} });
  assert.deepEqual(await next("four"), { settings, context });
  const entry = { name: "Changed", provider: "offline", index: "local" };
  await other.contexts.put(owner, { kind: "agent", id: "default", entry });
  assert.notDeepEqual((await next("five")).context, context);
  await other.contexts.put(owner, { kind: "agent", id: "fresh", entry });
  const named = { instruction: "five and a half", sessionId, agentContextId: "fresh" };
  const fresh = await (await engine.turns.run(owner, named)).finished;
  assert.equal(fresh.manifest.agentContext.id, "fresh");
  await assert.rejects(engine.turns.run(owner, { ...named, agentContextId: "none" }), { code: "context_unknown" });
  const elsewhere = await other.turns.run(owner, { instruction: "six", sessionId });
  await elsewhere.finished;
  const last = await (await engine.turns.run(owner, { instruction: "seven", sessionId })).finished;
  assert.equal(last.parentId, elsewhere.turnId);
  await other.sessions.update(owner, sessionId, { name: "Another name" });
  const seen = { instruction: "eight", sessionId, expectedHead: last.id };
  assert.equal((await (await engine.turns.run(owner, seen)).finished).parentId, last.id);
  await assert.rejects(engine.turns.run(owner, seen), { code: "head_moved" });
});

test("[V2] [R5] 64 sessions stream at the same time over PostgreSQL and S3, each whole and in order", async (t) => {
  const { engine, owner } = await world(t);
  const streams = Array.from({ length: sessions }, async (_, place) => {
    const running = await engine.turns.run(owner, { instruction: `Question ${place}?` });
    const events: SequencedEvent[] = [];
    for await (const event of running.events()) events.push(event);
    return { events, finished: await running.finished };
  });
  for (const { events, finished } of await Promise.all(streams)) {
    assert.deepEqual(
      events.map(({ seq }) => seq),
      events.map((_, at) => at + 1),
    );
    assert.equal(events.filter(({ event }) => isTerminal(event)).length, 1);
    assert.equal(finished.status, "completed");
    const read = await Array.fromAsync(await engine.turns.events(owner, finished.id, { afterSeq: 0 }));
    assert.deepEqual(joinDeltas(read.map(({ event }) => event)), joinDeltas(events.map(({ event }) => event)));
  }
});
