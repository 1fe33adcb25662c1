import assert from "node:assert/strict";
import { after, before, suite, test, type TestContext } from "node:test";
import pg from "pg";
import {
  alice,
  all,
  testEngine,
  testRunner,
  type TestEngine,
  type TestEngineOptions,
} from "../../../testing/engine.ts";
import { textDelta, followToEnd, numbered, runFinished } from "../../../testing/live-log.ts";
import { startPostgres, type TestPostgres } from "../../../testing/postgres.ts";
import { memoryBlobs } from "../../blobs/memory/memory-blobs.ts";
import type { SequencedEvent } from "../../domain/events.ts";
import { newId } from "../../domain/ids.ts";
import type { ScriptedAnswer } from "../../providers/scripted/scripted.ts";
import { openPostgresRecords } from "../../records/sql/postgres/postgres.ts";
import { eventLogSuite } from "../event-log.suite.ts";
import { wakeUpsSuite } from "../wake-ups.suite.ts";
import type { LiveStore } from "../wake-ups.ts";
import { openPostgresLive } from "./postgres-live.ts";

let server: TestPostgres;
before(async () => {
  server = await startPostgres();
});
after(() => server.stop());

interface TestSchema {
  admin: pg.Client;
  schema: string;
  open(): Promise<LiveStore>;
}

/** Makes a schema for one test, and collects the reports of everything that is opened there. */
async function makeSchema(context: TestContext): Promise<TestSchema> {
  const schema = `Live "${(schemas += 1)}"`;
  const admin = new pg.Client({ connectionString: server.url });
  await admin.connect();
  context.after(() => admin.end());
  await admin.query(`create schema ${pg.escapeIdentifier(schema)}`);
  const open = async (): Promise<LiveStore> => {
    const live = await openPostgresLive({ url: server.url, schema, report: () => undefined });
    context.after(() => live.log.close());
    return live;
  };
  return { admin, schema, open };
}
let schemas = 0;

eventLogSuite("the live log in PostgreSQL", async (context) => {
  const { open } = await makeSchema(context);
  return { log: (await open()).log, reopen: async () => (await open()).log };
});

wakeUpsSuite("wake-ups by PostgreSQL", async (context) => {
  const { open } = await makeSchema(context);
  const [here, there] = await Promise.all([open(), open()]);
  return [here.wakeUps, there.wakeUps];
});

suite("the live log in PostgreSQL, when things go wrong", () => {
  test("[V2] [B4] when the server ends connections in mid-stream, nothing is lost or doubled, and they are opened again", async (context) => {
    const { admin, open } = await makeSchema(context);
    const [writer, reader] = await Promise.all([open(), open()]);
    const turnId = newId();
    const events = [...Array.from({ length: 60 }, (_, n) => textDelta(`${n} `)), runFinished];
    const followed = followToEnd(reader.log, turnId);
    for (const [n, event] of events.entries()) {
      const appended = writer.log.append(turnId, [event]);
      if (n % 20 === 10)
        await admin.query(
          "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'aptove live'",
        );
      await appended;
    }
    assert.deepEqual(await followed, numbered(events));
    assert.deepEqual(await writer.log.read(turnId, 0), numbered(events));
  });

  test("[R2] a log that another process dropped is not started again in its middle by its writer", async (context) => {
    const { open } = await makeSchema(context);
    const [asleep, recovery] = await Promise.all([open(), open()]);
    const turnId = newId();
    await asleep.log.append(turnId, [textDelta("one")]);
    await recovery.log.drop(turnId);
    await asleep.log.append(turnId, [textDelta("two")]);
    assert.equal(await recovery.log.read(turnId, 0), null);
    assert.deepEqual(await recovery.log.list(), []);
    assert.deepEqual(await asleep.log.list(), [turnId]);
    await asleep.log.drop(turnId);
    assert.deepEqual(await asleep.log.list(), []);
  });

  test("[B1] a full disk is storage_full; the events keep their order and are written when there is room", async (context) => {
    const { admin, schema, open } = await makeSchema(context);
    const [writer, reader] = await Promise.all([open(), open()]);
    await admin.query(`set search_path to ${pg.escapeIdentifier(schema)}`);
    await admin.query(`
      create function fill() returns trigger language plpgsql as
        $$ begin raise exception 'could not extend file' using errcode = 'disk_full'; end $$;
      create trigger full_disk before insert on live_events execute function fill()`);
    const turnId = newId();
    await assert.rejects(writer.log.append(turnId, [textDelta("one")]), { name: "AptoveError", code: "storage_full" });
    await admin.query("drop trigger full_disk on live_events");
    await writer.log.append(turnId, [textDelta("two")]);
    assert.deepEqual(await reader.log.read(turnId, 0), numbered([textDelta("one"), textDelta("two")]));
  });

  test("[B1] a server that cannot be reached is storage_failed, and the error shows no secret", async () => {
    const url = "postgres://me:s3cret@localhost/none?host=/nowhere";
    await assert.rejects(openPostgresLive({ url, report: () => undefined }), (error: Error & { code?: string }) => {
      assert.equal(error.code, "storage_failed");
      assert.doesNotMatch(error.message, /s3cret/);
      return true;
    });
  });
});

/** Opens two servers on one database, with the same blobs. */
async function twoServers(context: TestContext, options: TestEngineOptions): Promise<[TestEngine, TestEngine]> {
  const { schema, open } = await makeSchema(context);
  const blobs = memoryBlobs();
  const join = async (): Promise<TestEngine> => {
    const records = await openPostgresRecords({ url: server.url, schema });
    return await testEngine(context, { ...options, ...(await open()), records, blobs, runner: testRunner() });
  };
  const first = await join();
  return [first, await join()];
}

suite("two servers on one PostgreSQL", () => {
  test("[V2] [B4] a turn that runs on one server is read from the other at every split point, while it runs and after", async (context) => {
    const gate = Promise.withResolvers<void>();
    const script = (): ScriptedAnswer => [
      { thinks: "let me see" },
      { says: ["one ", "two ", "three ", gate.promise, "four ", "five"], everyMs: 1 },
    ];
    const [here, there] = await twoServers(context, { script });
    const running = await here.start("count");
    const turnEvents = async (afterSeq: number): Promise<SequencedEvent[]> =>
      await all(await there.engine.turns.events(alice, running.turnId, { afterSeq }));
    const had: SequencedEvent[] = [];
    for await (const event of running.events()) {
      had.push(event);
      if (event.event.type === "text_delta" && event.event.delta.endsWith("three ")) break;
    }
    await assert.rejects(turnEvents(had.length + 1), { code: "event_id_unknown" });
    const resumed = [0, ...had.map(({ seq }) => seq)].map((seq) => turnEvents(seq));
    gate.resolve();
    await running.finished;
    const whole = await all(running.events());
    for (const [split, rest] of (await Promise.all(resumed)).entries()) {
      assert.deepEqual([...whole.slice(0, split), ...rest], whole, `while it ran, split at ${split}`);
    }
    for (const split of [0, ...whole.map(({ seq }) => seq)]) {
      assert.deepEqual([...whole.slice(0, split), ...(await turnEvents(split))], whole, `after it, split at ${split}`);
    }
    await assert.rejects(turnEvents(whole.length + 1), { code: "event_id_unknown" });
    assert.deepEqual(await here.deps.log.list(), []);
  });

  test("[R3] [V4] a turn that runs on one server is steered and stopped from the other, without polling", async (context) => {
    context.mock.timers.enable({ apis: ["setInterval"] });
    const never = new Promise<void>(() => undefined);
    const [here, there] = await twoServers(context, { script: () => [{ says: ["one ", never] }] });
    while (here.deps.wakeUps?.isConnected() !== true) await new Promise((resolve) => setTimeout(resolve, 1));
    const running = await here.start("go");
    for await (const { event } of running.events()) if (event.type === "text_delta") break;
    await there.engine.turns.steer(alice, { turnId: running.turnId, text: "and more" });
    await there.engine.turns.interrupt(alice, { turnId: running.turnId });
    const turn = await running.finished;
    assert.equal(turn.status === "completed" && turn.stopReason, "interrupted");
    assert.ok(turn.warnings.some(({ code, message }) => code === "steer_undelivered" && message.includes("and more")));
  });
});
