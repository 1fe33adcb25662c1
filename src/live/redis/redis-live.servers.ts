/** The live log on a real Redis in front of a real PostgreSQL: how it is stored, and what happens when Redis fails. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, suite, test, type TestContext } from "node:test";
import { followToEnd, numbered, runFinished, textDelta } from "../../../testing/live-log.ts";
import { createClient, type RedisClientType } from "@redis/client";
import pg from "pg";
import { alice, all, testEngine, testRunner, type TestEngine } from "../../../testing/engine.ts";
import { startPostgres, type TestPostgres } from "../../../testing/postgres.ts";
import { startRedis, type TestRedis } from "../../../testing/servers/redis.ts";
import { temporaryFolder } from "../../../testing/temporary-folder.ts";
import { memoryBlobs } from "../../blobs/memory/memory-blobs.ts";
import { streamKey, type SequencedEvent } from "../../domain/events.ts";
import { newId } from "../../domain/ids.ts";
import { limits } from "../../domain/limits.ts";
import { openPostgresRecords } from "../../records/sql/postgres/postgres.ts";
import { readAll, type EventLog } from "../event-log.ts";
import { eventLogSuite } from "../event-log.suite.ts";
import { fileEventLog } from "../files/file-event-log.ts";
import { openPostgresLive } from "../postgres/postgres-live.ts";
import type { SharedCache } from "../shared-cache.ts";
import { sharedCacheSuite } from "../shared-cache.suite.ts";
import type { LiveStore } from "../wake-ups.ts";
import { wakeUpsSuite } from "../wake-ups.suite.ts";
import { probeRedis } from "./probe-redis.ts";
import { openRedisLive } from "./redis-live.ts";

let redis: TestRedis;
let postgres: TestPostgres;
before(async () => {
  [redis, postgres] = await Promise.all([startRedis(), startPostgres()]);
});
after(() => Promise.all([redis.stop(), postgres.stop()]));

const report = (): void => undefined;

test("[B1] the check of a Redis address returns null, or why the server refuses it", async () => {
  assert.equal(await probeRedis(redis.url), null);
  const { host } = new URL(redis.url);
  assert.match((await probeRedis(`redis://stranger:s3cret@${host}`)) ?? "", /WRONGPASS|AUTH/);
});

/** Opens the log and waits until Redis is connected. Before that, all events go to the log behind it. */
async function open(context: TestContext, behind: Parameters<typeof openRedisLive>[0]["behind"]): Promise<LiveStore> {
  const live = openRedisLive({ url: redis.url, behind, report });
  context.after(() => live.log.close());
  await untilConnected(live);
  return live;
}

async function untilConnected({ wakeUps }: LiveStore): Promise<void> {
  while (!wakeUps.isConnected()) await new Promise((resolve) => setTimeout(resolve, 1));
}

eventLogSuite("the live log in Redis, before files", async (context) => {
  const folder = join(await temporaryFolder(context), "live");
  const openOne = async (): Promise<EventLog> => (await open(context, { log: fileEventLog({ folder }) })).log;
  return { log: await openOne(), reopen: openOne };
});

wakeUpsSuite("wake-ups by Redis", async (context) => {
  const behind = async () => ({ log: fileEventLog({ folder: join(await temporaryFolder(context), "live") }) });
  return [(await open(context, await behind())).wakeUps, (await open(context, await behind())).wakeUps];
});

/** Opens one end of the cache, as a server has it, and waits until Redis is connected. */
async function openCache(context: TestContext): Promise<SharedCache> {
  const behind = { log: fileEventLog({ folder: join(await temporaryFolder(context), "live") }) };
  const live = openRedisLive({ url: redis.url, behind, report });
  context.after(() => live.log.close());
  await untilConnected(live);
  return live.cache;
}

sharedCacheSuite("the cache in Redis", async (context) => [await openCache(context), await openCache(context)]);

test("[Q7] a cache in Redis that is flushed, hangs or is gone finds nothing, and fails no one", async (context) => {
  const [here, there] = [await openCache(context), await openCache(context)];
  here.set("search:a", "one");
  while ((await there.get("search:a")) === null) await new Promise((resolve) => setImmediate(resolve));
  await command((client) => client.flushAll());
  const late = await openCache(context);
  assert.deepEqual(
    [await here.get("search:a"), await there.get("search:a"), await late.get("search:a")],
    [...["one", "one"], null],
  );
  await command((client) => client.set("aptove:cache:search:b", "no text of ours"));
  assert.equal(await here.get("search:b"), null);
  redis.pause();
  const begun = performance.now();
  assert.equal(await late.get("search:a"), null);
  assert.ok(performance.now() - begun < 5 * limits.redisAnswerMsMax);
  late.set("search:c", "three");
  assert.equal(await late.get("search:c"), "three");
  redis.resume();
  await redis.kill();
  assert.equal(await here.get("search:none"), null);
  await redis.start();
});

test("[Q7] what the cache keeps in Redis expires", async (context) => {
  const cache = await openCache(context);
  cache.set("search:expires", "soon");
  let ms = -2;
  while (ms === -2) ms = await command((client) => client.pTTL("aptove:cache:search:expires"));
  assert.ok(ms > 0 && ms <= limits.sharedCacheKeepMs, String(ms));
});

/** Opens two servers on the same Redis and PostgreSQL, and the log behind them alone. */
async function servers(context: TestContext): Promise<{ writer: LiveStore; reader: LiveStore; behind: EventLog }> {
  const schema = `live_${(schemas += 1)}`;
  const admin = new pg.Client({ connectionString: postgres.url });
  await admin.connect();
  await admin.query(`create schema ${schema}`);
  await admin.end();
  const openBehind = (): Promise<LiveStore> => openPostgresLive({ url: postgres.url, schema, report });
  const { log: behind } = await openBehind();
  context.after(() => behind.close());
  return { writer: await open(context, await openBehind()), reader: await open(context, await openBehind()), behind };
}
let schemas = 0;

const events = [...Array.from({ length: 90 }, (_, n) => textDelta(`${n} `)), runFinished];
const sequenced = numbered(events);

async function command<T>(ask: (client: RedisClientType) => Promise<T>): Promise<T> {
  const client: RedisClientType = createClient({ url: redis.url, RESP: 3 });
  await client.connect();
  try {
    return await ask(client);
  } finally {
    await client.close();
  }
}

suite("Redis that does not behave", () => {
  const faults: [string, (n: number) => Promise<void> | void][] = [
    ["is flushed", async (n) => void (n % 20 === 9 && (await command((client) => client.flushAll())))],
    [
      "is killed, and is back empty",
      async (n) => {
        if (n === 20) await redis.kill();
        if (n === 60) await redis.start();
      },
    ],
    [
      "hangs, and goes on",
      (n) => {
        if (n === 20) redis.pause();
        if (n === 60) redis.resume();
      },
    ],
  ];
  for (const [what, doTo] of faults) {
    test(`[V2] [V3] [R5] Redis ${what} in mid-stream: listeners elsewhere get every event once, and no listener waits long`, async (context) => {
      const { writer, reader, behind } = await servers(context);
      const turnId = newId();
      const following = [followToEnd(reader.log, turnId), followToEnd(writer.log, turnId)];
      let longestMs = 0;
      for (const [n, event] of events.entries()) {
        await doTo(n);
        const begin = performance.now();
        await writer.log.append(turnId, [event]);
        longestMs = Math.max(longestMs, performance.now() - begin);
        // Acknowledged events are readable from every server, whatever happened to Redis.
        if (n === 59) assert.deepEqual(await reader.log.read(turnId, 55), sequenced.slice(55, 60));
      }
      for (const got of await Promise.all(following)) assert.deepEqual(got, sequenced);
      assert.ok(longestMs < limits.redisAnswerMsMax * 4, `an append took ${longestMs} ms`);
      await writer.log.close();
      assert.deepEqual(await behind.read(turnId, 0), sequenced, "the log behind has it all");
      await reader.log.drop(turnId);
    });
  }

  test("[R5] [V3] [T11] a turn does not fail because Redis is gone, and another server streams all of it", async (context) => {
    const schema = `turn_${(schemas += 1)}`;
    const blobs = memoryBlobs();
    const gates = [1, 2].map(() => Promise.withResolvers<void>());
    const says = ["one ", "two ", gates[0]?.promise ?? "", "three ", gates[1]?.promise ?? "", "four"];
    const reports: string[] = [];
    const server = async (): Promise<TestEngine> => {
      const records = await openPostgresRecords({ url: postgres.url, schema });
      const behind = await openPostgresLive({ url: postgres.url, schema, report });
      const tell = (message: string): void => void reports.push(message);
      const live = openRedisLive({ url: redis.url, behind, report: tell });
      await untilConnected(live);
      return await testEngine(context, { ...live, records, blobs, runner: testRunner(), script: () => [{ says }] });
    };
    const [here, there] = [await server(), await server()];
    const running = await here.start("count");
    const received: SequencedEvent[] = [];
    for await (const event of await there.engine.turns.events(alice, running.turnId, { afterSeq: 0 })) {
      received.push(event);
      const { event: payload } = event;
      if (payload.type !== "text_delta") continue;
      if (payload.delta.endsWith("two ")) await redis.kill().then(gates[0]?.resolve);
      if (payload.delta.endsWith("three ")) await redis.start().then(gates[1]?.resolve);
    }
    assert.equal((await running.finished).status, "completed");
    assert.deepEqual(received, await all(running.events()));
    const fault = "Redis is unreachable; until it is back, events are read from the log behind it";
    const expected = [fault, fault, `a fault is over: ${fault}`, `a fault is over: ${fault}`];
    while (reports.length < expected.length) await new Promise((resolve) => setTimeout(resolve, 1));
    assert.deepEqual(reports.toSorted(), expected.toSorted());
    assert.deepEqual(here.reports, []);
  });

  test("[V2] [R2] events that Redis lost are in the log behind it a moment later, even if the turn is silent", async (context) => {
    const { writer, reader, behind } = await servers(context);
    const turnId = newId();
    await writer.log.append(turnId, events.slice(0, 3));
    await command((client) => client.flushAll());
    while (((await reader.log.read(turnId, 0))?.length ?? 0) < 3)
      await reader.log.wait(turnId, 0, AbortSignal.timeout(20));
    assert.deepEqual(await behind.read(turnId, 0), sequenced.slice(0, 3));
  });

  test("[R2] [V2] a recovery waits for the events that only Redis has, while Redis hangs", async (context) => {
    const { writer, reader, behind } = await servers(context);
    const turnId = newId();
    let lives = true;
    await writer.log.append(turnId, events.slice(0, 3), () => lives);
    // Its process dies before the log behind has them.
    lives = false;
    redis.pause();
    const reading = readAll(reader.log, turnId, "patiently");
    assert.equal(await reader.log.read(turnId, 0), null);
    redis.resume();
    assert.deepEqual(await reading, sequenced.slice(0, 3));
    assert.equal(await behind.read(turnId, 0), null);
  });

  test("[R2] a recovery does not wait long for a Redis that is gone", async (context) => {
    const { reader } = await servers(context);
    await redis.kill();
    const begun = performance.now();
    for (let again = 0; again < 2; again += 1) assert.equal(await readAll(reader.log, newId(), "patiently"), null);
    const ms = performance.now() - begun;
    assert.ok(ms < limits.leaseMs, `${ms} ms`);
    await redis.start();
  });

  test("[R1] [V2] an event that reaches Redis after its turn was dropped is in no log", async (context) => {
    const { writer, reader, behind } = await servers(context);
    const turnId = newId();
    await writer.log.append(turnId, events.slice(0, 2));
    while ((await behind.read(turnId, 0))?.length !== 2) await new Promise(setImmediate);
    await reader.log.drop(turnId);
    await writer.log.append(turnId, events.slice(2, 3));
    for (const afterSeq of [0, 2]) assert.equal(await reader.log.read(turnId, afterSeq), null);
  });

  test("[R2] [V2] a turn that was dropped while Redis did not answer has no events when it is back", async (context) => {
    const { writer, reader } = await servers(context);
    const turnId = newId();
    await writer.log.append(turnId, events.slice(0, 2));
    redis.pause();
    // It finds that Redis does not answer, and closes the connection.
    await writer.log.read(newId(), 0);
    await new Promise(setImmediate);
    await writer.log.drop(turnId);
    redis.resume();
    while ((await command((client) => client.type(streamKey(turnId)))) === "stream") await new Promise(setImmediate);
    assert.equal(await reader.log.read(turnId, 0), null);
  });

  test("[V3] a turn's stream in Redis has its events by their numbers, and ends with the turn or expires", async (context) => {
    const { writer } = await servers(context);
    const turnId = newId();
    await writer.log.append(turnId, events.slice(0, 2));
    const key = streamKey(turnId);
    const entries = await command((client) => client.xRange(key, "-", "+"));
    assert.deepEqual(
      (entries ?? []).map(({ id, message }) => [id, JSON.parse(message["event"] ?? "")]),
      [
        ["1-0", events[0]],
        ["2-0", events[1]],
      ],
    );
    const leftMs = await command((client) => client.pTTL(key));
    assert.ok(leftMs > 0 && leftMs <= limits.redisKeepMs, `${leftMs} ms`);
    await writer.log.drop(turnId);
    assert.equal(await command((client) => client.get(key)), "");
    const keptMs = await command((client) => client.pTTL(key));
    assert.ok(keptMs > 0 && keptMs <= limits.redisDroppedKeepMs, `${keptMs} ms`);
  });
});
