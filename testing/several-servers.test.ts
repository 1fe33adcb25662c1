/** Several servers on one PostgreSQL: each is an engine with its own connections to the records, and all share blobs and log. */
import assert from "node:assert/strict";
import { cpSync } from "node:fs";
import { join } from "node:path";
import { after, before, test, type TestContext } from "node:test";
import { rejectionOf } from "./refusals.ts";
import pg from "pg";
import { createAptove, type Aptove } from "../src/compose.ts";
import { memoryBlobs } from "../src/blobs/memory/memory-blobs.ts";
import type { SequencedEvent } from "../src/domain/events.ts";
import { limits } from "../src/domain/limits.ts";
import { memoryEventLog } from "../src/live/memory/memory-event-log.ts";
import type { SessionCursor } from "../src/records/record-store.ts";
import { openPostgresRecords } from "../src/records/sql/postgres/postgres.ts";
import type { Tool } from "../src/tools/tool.ts";
import { startCuttingProxy, type CuttingProxy } from "./cutting-proxy.ts";
import { alice, all, testEngine, testRunner, type TestEngine, type TestEngineOptions, untilEvent } from "./engine.ts";
import { startPostgres, type TestPostgres } from "./postgres.ts";
import { temporaryFolder } from "./temporary-folder.ts";

let database: TestPostgres;
let proxy: CuttingProxy;
before(async () => {
  database = await startPostgres();
  proxy = await startCuttingProxy(database.url);
});
after(async () => {
  await proxy.stop();
  await database.stop();
});

const never = new Promise<void>(() => {});
/** The model's script: special answers for some instructions, "done" for all others. */
const script: NonNullable<TestEngineOptions["script"]> = (call) => {
  const instruction = JSON.stringify(call.items.at(-1));
  if (instruction.includes("wait for ever")) return [{ says: ["begun ", never] }];
  return instruction.includes("use the tool") ? [{ says: ["I will. "] }, { calls: "hold" }] : "done";
};

interface World {
  /** Starts a server that reaches the database directly or through the proxy. */
  start(options?: TestEngineOptions & { url?: string }): Promise<TestEngine>;
  query(text: string): Promise<unknown[]>;
}

async function world(context: TestContext): Promise<World> {
  const schema = `servers_${(schemas += 1)}`;
  const stores = { blobs: memoryBlobs(), log: memoryEventLog() };
  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  await client.query(`set search_path to ${schema}`);
  context.after(() => client.end());
  return {
    start: async ({ url = database.url, ...options } = {}) =>
      await testEngine(context, {
        ...stores,
        records: await openPostgresRecords({ url, schema, poolMax: 4 }),
        script,
        runner: testRunner(),
        isAlive: () => null,
        ...options,
      }),
    query: async (text) => (await client.query<Record<string, unknown>>(text)).rows,
  };
}
let schemas = 0;

async function codeOf(asked: Promise<unknown>): Promise<{ code: string; turnId: unknown } | null> {
  return await asked.then(
    () => null,
    async () => {
      const { code, facts } = await rejectionOf(asked);
      return { code, turnId: facts["turnId"] };
    },
  );
}

test("[T5] [S5] if two servers get a request at once, one runs the turn or moves the head, and the other names it in its refusal", async (context) => {
  const { start, query } = await world(context);
  const servers = [await start(), await start()] as const;
  const [{ engine: one, ask }, { engine: two }] = servers;
  const first = await ask("one");
  const sessionId = first.sessionId;
  for (let round = 0; round < 5; round += 1) {
    const racing = servers.map((server) => server.start("wait for ever", { sessionId }));
    const refusals = (await Promise.all(racing.map(codeOf))).filter((refusal) => refusal !== null);
    const running = (await Promise.allSettled(racing)).flatMap((each) =>
      each.status === "fulfilled" ? [each.value] : [],
    );
    assert.equal(running.length, 1);
    assert.deepEqual(refusals, [{ code: "session_busy", turnId: running[0]?.turnId }]);
    await one.turns.interrupt(alice, { sessionId });
    await running[0]?.finished;
  }
  assert.deepEqual(await query("select count(*)::int as turns, max(sequence) as last from turns"), [
    { turns: 6, last: 6 },
  ]);

  const second = await ask("two", { sessionId });
  const moves = [one, two].map((engine) => engine.tree.moveHead(alice, { sessionId, from: second.id, to: first.id }));
  const codes = (await Promise.all(moves.map(codeOf))).map((refusal) => refusal?.code ?? "moved");
  assert.deepEqual(codes.toSorted(), ["head_moved", "moved"]);
});

test("[R3] [V4] a turn that runs on one server is followed, steered and interrupted through another", async (context) => {
  const { start } = await world(context);
  const called = Promise.withResolvers<void>();
  const goOn = Promise.withResolvers<void>();
  const tool: Tool = {
    definition: { name: "hold", parameters: { type: "object" } },
    needsApproval: () => false,
    run: async () => (called.resolve(), await goOn.promise, { output: "held", isError: false }),
  };
  const here = await start({ tools: [tool] });
  const there = await start();
  const running = await here.start("use the tool");
  const followed = all(await there.engine.turns.events(alice, running.turnId, { afterSeq: 0 }));
  await called.promise;
  await there.engine.turns.steer(alice, { turnId: running.turnId, text: "and be quick" });
  goOn.resolve();
  assert.equal((await running.finished).status, "completed");
  const events = await followed;
  assert.deepEqual(events, await all(running.events()));
  assert.deepEqual(
    events.flatMap(({ event }) => (event.type === "steered" ? [event.text] : [])),
    ["and be quick"],
  );

  const endless = await here.start("wait for ever", { sessionId: running.sessionId });
  await untilEvent(endless, "text_delta");
  assert.equal(await there.engine.turns.interrupt(alice, { sessionId: running.sessionId }), endless.turnId);
  const turn = await endless.finished;
  assert.equal(turn.status === "completed" && turn.stopReason, "interrupted");
});

test("[R1] [R2] [T11] a server that is cut off stops by itself, cannot write when it is back, and continues to serve; another server has failed its turn", async (context) => {
  const { start, query } = await world(context);
  const ahead = { ms: 0 };
  const began = Promise.withResolvers<AbortSignal>();
  const tool: Tool = {
    definition: { name: "hold", parameters: { type: "object" } },
    needsApproval: () => false,
    run: (_args, { signal }) => (began.resolve(signal), never.then(() => ({ output: "", isError: false }))),
  };
  const monotonic = (): number => performance.now() + ahead.ms;
  const cut = await start({ url: proxy.url, tools: [tool], monotonic });
  const running = await cut.start("use the tool");
  const listening = all(running.events());
  const signal = await began.promise;
  const stopped = new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
  proxy.partition();
  ahead.ms = limits.leaseMs - limits.leaseMarginMs;
  await stopped;
  await assert.rejects(listening, { code: "runner_lost" });

  await query("update turns set lease_expires_at = 0 where status = 'pending'");
  const other = await start();
  const failed = await other.engine.turns.get(alice, running.turnId);
  assert.equal(failed.status === "failed" && failed.failures[0].code, "runner_lost");
  assert.equal(failed.status === "failed" && failed.run.modelRequests, 1, "the step that ended is kept");
  proxy.heal();
  assert.deepEqual(await running.finished, failed, "what it would write is refused, and it learns why");
  assert.deepEqual(await other.engine.turns.get(alice, running.turnId), failed);
  assert.equal((await cut.ask("again", { sessionId: running.sessionId })).status, "completed");
});

test("[R2] servers that search for lost turns at the same time fail each of them once", async (context) => {
  const { start, query } = await world(context);
  const dying = await start();
  const lost = await Promise.all(Array.from({ length: 12 }, () => dying.start("wait for ever")));
  await query("update turns set lease_expires_at = 0, runner_id = 'a dead process'");
  const reports: string[] = [];
  const report = (message: string): void => void reports.push(message);
  const [one] = await Promise.all([start({ report }), start({ report }), start({ report })]);
  for (const { turnId } of lost) assert.equal((await one.engine.turns.get(alice, turnId)).status, "failed");
  assert.deepEqual(reports, []);
});

test("[R4] [V2] a server that ends releases streams of turns that run elsewhere, and they continue there from the same position", async (context) => {
  const { start } = await world(context);
  const here = await start();
  const ending = await start();
  const running = await here.start("wait for ever");
  await untilEvent(running, "text_delta");
  const had: SequencedEvent[] = [];
  const following = (async () => {
    for await (const event of await ending.engine.turns.events(alice, running.turnId, { afterSeq: 0 })) {
      had.push(event);
      if (event.event.type === "text_delta") void ending.engine.close();
    }
  })();
  await following;
  assert.deepEqual(await codeOf(ending.start("more")), { code: "shutting_down", turnId: undefined });
  const rest = all(await here.engine.turns.events(alice, running.turnId, { afterSeq: had.at(-1)?.seq ?? 0 }));
  await here.engine.turns.interrupt(alice, { turnId: running.turnId });
  assert.deepEqual([...had, ...(await rest)], await all(running.events()));
});

test("[S7] [T1] clocks that are minutes apart make no list repeat or skip, and turns count on", async (context) => {
  const { start } = await world(context);
  const slow = await start({ now: () => Date.now() - 300_000 });
  const fast = await start({ now: () => Date.now() + 300_000 });
  const ids: string[] = [];
  for (const server of [fast, slow, slow, fast, slow]) ids.push((await server.ask("one")).sessionId);
  const [busy = ""] = ids;
  const turns = [await slow.ask("two", { sessionId: busy }), await fast.ask("three", { sessionId: busy })];
  assert.deepEqual(
    turns.map(({ sequence }) => sequence),
    [2, 3],
  );
  const listed: string[] = [];
  let from: SessionCursor | undefined;
  for (;;) {
    const page = await slow.engine.sessions.list(alice, { limit: 2, ...(from !== undefined && { after: from }) });
    listed.push(...page.sessions.map(({ id }) => id));
    if (page.next === null) break;
    from = page.next;
    // A server whose clock is behind adds a session meanwhile: its position in the list follows its time.
    await slow.engine.sessions.create(alice, {});
  }
  assert.equal(new Set(listed).size, listed.length, "nothing is repeated");
  assert.deepEqual(
    ids.filter((id) => !listed.includes(id)),
    [],
    "nothing that was there is skipped",
  );
});

test("[B4] a server whose blobs are in another folder is refused; one that shares the folder starts", async (context) => {
  const env = {};
  const start = (dataDir: string): Promise<Aptove> =>
    createAptove({ dataDir, env, overrides: { records: { url: database.url } }, report: () => undefined });
  const [first, second] = [await temporaryFolder(context), await temporaryFolder(context)];
  const closing = async ({ engine, telemetry }: Aptove): Promise<void> => {
    await engine.close({ graceMs: 0 });
    await telemetry.close();
  };
  await closing(await start(first));
  await assert.rejects(start(second), { code: "blobs_foreign" });
  cpSync(join(first, "blobs"), join(second, "blobs"), { recursive: true });
  await closing(await start(second));
});
