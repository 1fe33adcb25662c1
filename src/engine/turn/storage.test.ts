import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { alice, all, testEngine, testParts, testRunner } from "../../../testing/engine.ts";
import { hasCode } from "../../../testing/refusals.ts";
import { replaceBlob } from "../../../testing/replace-blob.ts";
import type { BlobStore } from "../../blobs/blob-store.ts";
import { memoryBlobs } from "../../blobs/memory/memory-blobs.ts";
import { AptoveError } from "../../domain/errors.ts";
import type { SequencedEvent } from "../../domain/events.ts";
import { historyItems } from "../../domain/lineage.ts";
import { memoryEventLog } from "../../live/memory/memory-event-log.ts";
import type { ScriptedPart } from "../../providers/scripted/scripted.ts";
import { memoryRecords } from "../../records/memory/memory-records.ts";
import { createEngine } from "../create-engine.ts";
import { Histories } from "./kept/histories.ts";

/** A store that is full for keys that fit. */
function fullFor(store: BlobStore, isFull: (key: string) => boolean): BlobStore {
  return {
    put: async (key, bytes) => {
      if (isFull(key)) throw new AptoveError("storage_full", `no room for ${key}`);
      await store.put(key, bytes);
    },
    get: (key) => store.get(key),
    delete: (key) => store.delete(key),
    list: (prefix) => store.list(prefix),
    size: (key) => store.size(key),
  };
}

test("[E7] what cannot be stored is not sent: the model is not called and nothing is left", async (t) => {
  const { start, provider, engine } = await testEngine(t, {
    blobs: fullFor(memoryBlobs(), (key) => key.includes("opening")),
  });
  await assert.rejects(start("x"), hasCode("storage_full"));
  assert.equal(provider.exchanges.length, 0);
  assert.deepEqual((await engine.sessions.list(alice, {})).sessions, []);
});

test("[E7] [C3] a rebuilt request that cannot be stored is not sent either; the turn fails", async (t) => {
  const { ask, provider } = await testEngine(t, { blobs: fullFor(memoryBlobs(), (key) => key.includes("request-2")) });
  const first = await ask("one");
  provider.forget();
  const second = await ask("two", { sessionId: first.sessionId });
  assert.equal(second.status === "failed" && second.failures[0].code, "storage_full");
  assert.equal(provider.exchanges.length, 2);
});

test("[T11] [B1] on a full disk the turn fails with its terminal event, and what was acknowledged stays", async (t) => {
  let isFull = false;
  const blobs = fullFor(memoryBlobs(), (key) => isFull && /\/(run|state)\.json$/.test(key));
  const { ask, start, engine, answer } = await testEngine(t, { blobs });
  const first = await ask("one");
  isFull = true;
  const running = await start("two", { sessionId: first.sessionId });
  const events = await all(running.events());
  assert.equal(events.at(-1)?.event.type, "run_failed");
  const failed = await running.finished;
  assert.equal(failed.status === "failed" && failed.failures[0].code, "storage_full");
  isFull = false;
  assert.equal(await answer(first.id), "answer 1");
  const late = await all(await engine.turns.events(alice, failed.id, { afterSeq: 0 }));
  assert.equal(late.at(-1)?.event.type, "run_failed");
  const third = await ask("three", { sessionId: first.sessionId });
  assert.equal(third.parentId, first.id);
});

test("[B1] [T11] if even the row cannot be written the turn is failed by the next recovery", async (t) => {
  const records = memoryRecords();
  let isBroken = false;
  const { finish: finishTurn } = records.turns;
  records.turns.finish = (finish) =>
    isBroken ? Promise.reject(new AptoveError("storage_full", "no room")) : finishTurn.call(records.turns, finish);
  const deps = testParts({ records });
  const engine = await createEngine(deps);
  isBroken = true;
  const running = await engine.turns.run(alice, { instruction: "x" });
  assert.equal((await running.finished).status, "failed");
  isBroken = false;
  const { engine: next } = await testEngine(t, { ...deps, runner: testRunner(), isAlive: () => false });
  const turn = await next.turns.get(alice, running.turnId);
  assert.equal(turn.status === "failed" && turn.failures[0].code, "runner_lost");
});

test("[T11] [R5] [V2] if neither log, blobs nor row can be written, listeners receive that error, and no end that is not stored", async (t) => {
  const records = memoryRecords();
  const log = memoryEventLog();
  const { finish: finishTurn } = records.turns;
  const { append } = log;
  const held = Promise.withResolvers<void>();
  let isFull = false;
  const full = (): AptoveError => new AptoveError("storage_full", "no room");
  records.turns.finish = async (finish) => {
    if (isFull) throw full();
    return await finishTurn.call(records.turns, finish);
  };
  log.append = async (turnId, events) => {
    if (isFull) throw full();
    await append.call(log, turnId, events);
  };
  const blobs = fullFor(memoryBlobs(), () => isFull);
  const script = (): ScriptedPart[] => [{ says: ["half ", held.promise, "an answer"] }];
  const { start, ask, engine } = await testEngine(t, { records, log, blobs, script });
  const running = await start("one");
  const received: SequencedEvent[] = [];
  const hear = async (from: AsyncIterable<SequencedEvent>): Promise<void> => {
    for await (const event of from) received.push(event);
  };
  const rejected = assert.rejects(hear(running.events()), { code: "storage_full", message: /could not be stored/ });
  isFull = true;
  held.resolve();
  await rejected;
  await running.finished;
  const again = (): Promise<void> =>
    engine.turns.events(alice, running.turnId, { afterSeq: received.at(-1)?.seq ?? 0 }).then(hear);
  await assert.rejects(again(), { code: "storage_full", message: /could not be stored/ });
  isFull = false;
  await ask("two", { sessionId: running.sessionId });
  await again();
  const whole = await all(await engine.turns.events(alice, running.turnId, { afterSeq: 0 }));
  assert.deepEqual(received, whole);
  assert.equal(whole.at(-1)?.event.type, "run_failed");
});

test("[D3] [K3] every request and response of a long conversation reads back byte for byte, from cold", async (t) => {
  for (const history of ["chain", "replay"] as const) {
    const { ask, deps, provider } = await testEngine(t, { conversation: { history } });
    let sessionId: string | undefined;
    const turns: string[] = [];
    for (let n = 1; n <= 40; n += 1) {
      const turn = await ask(`instruction ${n} "quoted" 😀`, sessionId === undefined ? {} : { sessionId });
      sessionId = turn.sessionId;
      turns.push(turn.id);
      if (n === 20) provider.forget();
    }
    const bodies = provider.exchanges.map((exchange) => exchange.request.body);
    const { engine } = await testEngine(t, { ...deps, runner: testRunner() });
    const read: string[] = [];
    for (const id of turns) {
      const reader = await engine.turns.read(alice, id);
      for (const { index, request } of await reader.steps()) {
        const body = await reader.request(index);
        assert.equal(body.length, request.bytes);
        read.push(Buffer.from(body).toString());
        await reader.response(index);
      }
    }
    assert.deepEqual(read, bodies);
  }
});

test("[K1] [K3] in a replay, what a turn stores does not grow with its history as what it sends does", async (t) => {
  const { ask, deps, provider } = await testEngine(t, { conversation: { history: "replay" } });
  let sessionId: string | undefined;
  const stored: number[] = [];
  for (let n = 1; n <= 65; n += 1) {
    const turn = await ask(`instruction ${n}: ${"words ".repeat(60)}`, sessionId === undefined ? {} : { sessionId });
    sessionId = turn.sessionId;
    stored.push((await deps.blobs.get(turn.blobs.opening))?.length ?? 0);
  }
  // Turn 65 builds on turn 64 and turn 5 on turn 4: both keep one instruction, whatever went before.
  assert.ok(
    (provider.exchanges[64]?.request.body.length ?? 0) > 10 * (provider.exchanges[4]?.request.body.length ?? 0),
  );
  assert.ok((stored[64] ?? 0) < 1.2 * (stored[4] ?? 0), `${stored[64]} bytes at 65, ${stored[4]} at 5`);
});

test("[B3] a damaged or missing state is an error that names the blob, never an empty history", async (t) => {
  const { ask, deps } = await testEngine(t);
  const turn = await ask("one");
  const key = turn.blobs.state ?? "";
  const whole = (await deps.blobs.get(key)) ?? assert.fail();
  await fc.assert(
    fc.asyncProperty(fc.nat({ max: whole.length - 1 }), async (length) => {
      await replaceBlob(deps.blobs, key, whole.subarray(0, length));
      await assert.rejects(new Histories(deps.blobs, deps.records).state(turn.id), hasCode("history_unavailable", key));
    }),
    { numRuns: 30 },
  );
  await deps.blobs.delete(key);
  await assert.rejects(new Histories(deps.blobs, deps.records).state(turn.id), hasCode("history_unavailable", key));
  await replaceBlob(deps.blobs, key, whole);
  assert.equal(historyItems(await new Histories(deps.blobs, deps.records).state(turn.id)).length, 2);
});

test("[T11] [B1] a store that did what it says has failed: the turn has ended once, as it should", async (t) => {
  const records = memoryRecords();
  const { finish: finishTurn } = records.turns;
  let losesAnswer = true;
  records.turns.finish = async (finish) => {
    const result = await finishTurn.call(records.turns, finish);
    if (!losesAnswer) return result;
    losesAnswer = false;
    throw new AptoveError("storage_failed", "the answer was lost");
  };
  const { start, engine } = await testEngine(t, { records });
  const running = await start("one");
  const listening = all(running.events());
  const turn = await running.finished;
  assert.equal(turn.status, "completed");
  assert.deepEqual(await engine.turns.get(alice, turn.id), turn);
  const received = await listening;
  assert.equal(received.at(-1)?.event.type, "run_finished");
  assert.deepEqual(await all(await engine.turns.events(alice, turn.id, { afterSeq: 0 })), received);
});

test("[T13] [B1] a repeated request whose store fails while it waits receives the error, and nothing else fails", async (t) => {
  const owner = await testEngine(t, { script: () => [{ waits: new Promise<void>(() => {}) }] });
  const running = await owner.start("one", { idempotencyKey: "k" });
  let isBroken = false;
  const { turns } = owner.deps.records;
  const get = async (id: string) => {
    if (isBroken) throw new AptoveError("storage_failed", "it is gone");
    return await turns.get(id);
  };
  const records = { ...owner.deps.records, turns: { ...turns, get } };
  const other = await testEngine(t, { ...owner.deps, records, runner: testRunner() });
  const repeated = await other.start("one", { idempotencyKey: "k" });
  const reported = new Promise<void>((resolve) => (other.deps.report = () => resolve()));
  isBroken = true;
  await owner.engine.turns.interrupt(alice, { turnId: running.turnId });
  await running.finished;
  await reported;
  await assert.rejects(repeated.finished, hasCode("storage_failed"));
});

const unreachable = (): AptoveError => new AptoveError("records_unavailable", "it restarts");

test("[T11] [B1] the end of a turn waits for stores that restart, and nothing of the answer is lost", async (t) => {
  const [records, blobs] = [memoryRecords(), memoryBlobs()];
  const { finish: finishTurn } = records.turns;
  let refusals = 3;
  records.turns.finish = async (finish) => {
    refusals -= 1;
    if (refusals >= 0) throw unreachable();
    return await finishTurn.call(records.turns, finish);
  };
  const { put } = blobs;
  let isAway = true;
  blobs.put = async (key, bytes) => {
    if (isAway && key.endsWith("/run.json")) {
      isAway = false;
      throw new AptoveError("blobs_unavailable", "it restarts");
    }
    await put.call(blobs, key, bytes);
  };
  // The end of a turn with several steps reads those that are stored.
  const { listSteps } = records.turns;
  let unread = 1;
  records.turns.listSteps = async (id) => {
    unread -= 1;
    if (unread >= 0) throw unreachable();
    return await listSteps.call(records.turns, id);
  };
  const script = (_call: unknown, n: number): ScriptedPart[] | string =>
    n === 1 ? [{ calls: "none", with: {} }] : "answer 1";
  const { start, engine, answer, reports } = await testEngine(t, { records, blobs, script });
  const running = await start("one");
  const received = await all(running.events());
  const turn = await running.finished;
  assert.deepEqual([turn.status, await answer(turn.id)], ["completed", "answer 1"]);
  assert.equal(received.at(-1)?.event.type, "run_finished");
  assert.deepEqual(await all(await engine.turns.events(alice, turn.id, { afterSeq: 0 })), received);
  assert.deepEqual([reports, isAway, refusals], [[], false, -1]);
  assert.ok(unread < 0);
});

test("[T11] [R2] [R4] a server that stops does not wait for the database, and the next one keeps the text of the turn", async (t) => {
  const records = memoryRecords();
  const { finish: finishTurn } = records.turns;
  const asked = Promise.withResolvers<void>();
  let isAway = true;
  records.turns.finish = async (finish) => {
    asked.resolve();
    // It is back in time for a row alone, which would lose the answer.
    if (isAway && finish.turn.blobs.run !== null) throw unreachable();
    return await finishTurn.call(records.turns, finish);
  };
  const { delete: deleteRunner } = records.runners;
  records.runners.delete = async (id) => {
    if (isAway) throw unreachable();
    await deleteRunner.call(records.runners, id);
  };
  const deps = testParts({ records });
  const engine = await createEngine(deps);
  const running = await engine.turns.run(alice, { instruction: "one" });
  await asked.promise;
  await assert.rejects(engine.close(), hasCode("records_unavailable"));
  isAway = false;
  const next = await testEngine(t, { ...deps, runner: testRunner(), isAlive: () => false });
  const turn = await next.engine.turns.get(alice, running.turnId);
  assert.equal(turn.status === "failed" && turn.failures[0].code, "runner_lost");
  assert.equal((await next.ask("two", { sessionId: running.sessionId })).parentId, running.turnId);
  assert.match(JSON.stringify(next.provider.exchanges.at(-1)?.request.body), /answer 1/);
});

test("[V2] [T11] events that could not be stored anywhere have the same positions from wherever they are read", async (t) => {
  const log = memoryEventLog();
  const { append } = log;
  log.append = async (turnId, events) => {
    const isEnd = events.some(({ type }) => type === "run_failed" || type === "warning");
    if (isEnd) throw new AptoveError("storage_failed", "the log is gone");
    await append.call(log, turnId, events);
  };
  const blobs = fullFor(memoryBlobs(), (key) => /\/(run|state)\.json$/.test(key));
  const { ask, engine } = await testEngine(t, { log, blobs });
  const turn = await ask("one");
  const whole = await all(await engine.turns.events(alice, turn.id, { afterSeq: 0 }));
  assert.deepEqual(
    whole.slice(-2).map(({ event }) => event.type),
    ["warning", "run_failed"],
  );
  for (const { seq } of whole)
    assert.deepEqual(await all(await engine.turns.events(alice, turn.id, { afterSeq: seq })), whole.slice(seq));
});
