import assert from "node:assert/strict";
import { test } from "node:test";
import { alice, all, testEngine, testParts, testRunner } from "../../../../testing/engine.ts";
import { memoryBlobs } from "../../../blobs/memory/memory-blobs.ts";
import { AptoveError } from "../../../domain/errors.ts";
import { isTerminal, type SequencedEvent } from "../../../domain/events.ts";
import { newId } from "../../../domain/ids.ts";
import { limits } from "../../../domain/limits.ts";
import { memoryRecords } from "../../../records/memory/memory-records.ts";

const script = () => [
  { thinks: "hm, let me see" },
  { says: "the head moves by compare and set 😀" },
  { calls: "look", callId: "call_1", with: { path: "a.ts" } },
];
const tools = [{ name: "look", parameters: { type: "object" } }];

test("[V2] what was had plus what is resumed equals the whole, at every split point, also after a restart", async (t) => {
  const { start, deps, engine } = await testEngine(t, { script });
  const running = await start("why?", { tools });
  const live = await all(running.events());
  await running.finished;
  const restarted = await testEngine(t, { ...deps, runner: { ...deps.runner, id: newId() } });
  for (const from of [engine, restarted.engine]) {
    for (let split = 0; split <= live.length; split += 1) {
      const rest = await all(await from.turns.events(alice, running.turnId, { afterSeq: split }));
      assert.deepEqual([...live.slice(0, split), ...rest], live, `split at ${split}`);
    }
  }
});

test("[V1] [T11] events come in the order of life, numbered without gaps, with one terminal event at the end", async (t) => {
  const { start } = await testEngine(t, { script });
  const events = await all((await start("why?", { tools })).events());
  assert.deepEqual(
    events.map(({ seq }) => seq),
    events.map((_, index) => index + 1),
  );
  const types = events.map(({ event }) => event.type);
  const steps = types.filter((type, index) => type !== types[index - 1]);
  assert.deepEqual(steps, [
    "run_started",
    "context",
    "step_started",
    "reasoning_started",
    "reasoning_delta",
    "reasoning_ended",
    "text_started",
    "text_delta",
    "text_ended",
    "tool_call_started",
    "tool_call_delta",
    "tool_call_ended",
    "step_finished",
    "run_finished",
  ]);
  assert.equal(events.filter(({ event }) => isTerminal(event)).length, 1);
});

test("[V1] [D3] a character that a provider cuts into halves is shown whole, and a half that stays alone is kept", async (t) => {
  for (const says of [
    ["a \ud83d", "\ude00 b"],
    ["a ", "b \ud83d"],
  ]) {
    const { start } = await testEngine(t, { script: () => [{ says, everyMs: 20 }] });
    const events = await all((await start("why?")).events());
    const deltas = events.flatMap(({ event }) => (event.type === "text_delta" ? [event.delta] : []));
    assert.equal(deltas.join(""), says.join(""));
    const broken = deltas.filter((delta) => !delta.isWellFormed());
    assert.equal(broken.length, says.join("").isWellFormed() ? 0 : 1, JSON.stringify(deltas));
  }
});

test("[R5] a run ends without a listener, and a listener that never reads delays no other", async (t) => {
  const { start } = await testEngine(t, { script: () => "a longer answer of several words" });
  const unheard = await start("one");
  const stuck = unheard.events()[Symbol.asyncIterator]();
  await stuck.next();
  assert.equal((await unheard.finished).status, "completed");
  const rest: SequencedEvent[] = [];
  for (let next = await stuck.next(); !next.done; next = await stuck.next()) rest.push(next.value);
  assert.equal(rest.at(-1)?.event.type, "run_finished", "the late listener still gets everything");
});

test("[V2] listeners that join at any time get the same events while the turn runs", async (t) => {
  const gates = Array.from({ length: 4 }, () => Promise.withResolvers<void>());
  const says = gates.flatMap((gate, index) => [`part ${index} `, gate.promise]);
  const { start, engine } = await testEngine(t, { script: () => [{ says }] });
  const running = await start("go");
  const listeners: Promise<SequencedEvent[]>[] = [];
  for (const gate of gates) {
    listeners.push(all(await engine.turns.events(alice, running.turnId, { afterSeq: 0 })));
    gate.resolve();
  }
  const [first, ...others] = await Promise.all(listeners);
  for (const other of others) assert.deepEqual(other, first);
});

test("[V2] a subscriber that comes to a running turn at any position gets what is behind it so far, and then follows it", async (t) => {
  const [second, held] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const says = ["a ", second.promise, "b ", held.promise, "c"];
  const { start, engine } = await testEngine(t, { script: () => [{ says }] });
  const running = await start("go");
  const soFar: SequencedEvent[] = [];
  for await (const event of running.events()) {
    soFar.push(event);
    if (event.event.type === "text_delta") second.resolve();
    if (soFar.filter(({ event: { type } }) => type === "text_delta").length === 2) break;
  }
  const subscribed = await Promise.all(
    [0, ...soFar.map(({ seq }) => seq)].map(async (afterSeq) => {
      const events = (await engine.turns.events(alice, running.turnId, { afterSeq }))[Symbol.asyncIterator]();
      const shown: SequencedEvent[] = [];
      while (afterSeq + shown.length < soFar.length) shown.push((await events.next()).value);
      assert.deepEqual(shown, soFar.slice(afterSeq), `so far, behind ${afterSeq}`);
      return { afterSeq, shown, events };
    }),
  );
  held.resolve();
  const whole = await all(running.events());
  for (const { afterSeq, shown, events } of subscribed) {
    for (let next = await events.next(); !next.done; next = await events.next()) shown.push(next.value);
    assert.deepEqual(shown, whole.slice(afterSeq), `to the end, behind ${afterSeq}`);
  }
});

test("[V2] pieces of a text that arrive together are one event, and a piece that comes later is one of its own", async (t) => {
  const held = Promise.withResolvers<void>();
  const says = ["one ", "two ", held.promise, "three ", "four"];
  const { start } = await testEngine(t, { script: () => [{ thinks: "hm, well" }, { says }] });
  const pieces: string[] = [];
  for await (const { event } of (await start("go")).events()) {
    if (!("delta" in event)) continue;
    pieces.push(event.delta);
    if (pieces.length === 2) held.resolve();
  }
  assert.deepEqual(pieces, ["hm, well", "one two ", "three four"]);
});

test("[V2] pieces that arrive together are as many events as a long text needs, and nothing of it is lost", async (t) => {
  const says = Array.from({ length: 300 }, (_, n) => `${n} ${"x".repeat(1_000)} `);
  const { start } = await testEngine(t, { script: () => [{ says }] });
  const pieces: string[] = [];
  for await (const { event } of (await start("go")).events()) if (event.type === "text_delta") pieces.push(event.delta);
  assert.equal(pieces.join(""), says.join(""));
  assert.ok(pieces.length > 1 && pieces.length < 10, `${pieces.length} pieces`);
  for (const piece of pieces) assert.ok(piece.length < limits.joinedPieceCharactersMax + 2_000, `${piece.length}`);
});

test("[V2] [T11] who listens where the turn runs hears its end from there, and nothing is read back for it", async (t) => {
  const held = Promise.withResolvers<void>();
  const blobs = memoryBlobs();
  const get = blobs.get.bind(blobs);
  const read: string[] = [];
  blobs.get = async (key) => {
    read.push(key);
    return await get(key);
  };
  const { start, engine } = await testEngine(t, { blobs, script: () => [{ says: ["a ", held.promise, "b"] }] });
  const running = await start("go");
  const listening = all(running.events());
  held.resolve();
  const received = await listening;
  await running.finished;
  assert.deepEqual(read, []);
  assert.deepEqual(received, await all(await engine.turns.events(alice, running.turnId, { afterSeq: 0 })));
});

test("[R5] a listener that goes away ends its own reading only", async (t) => {
  const held = Promise.withResolvers<void>();
  const { start } = await testEngine(t, { script: () => [{ says: ["a ", held.promise, "b"] }] });
  const running = await start("go");
  const leaving = new AbortController();
  const reading = all(running.events(leaving.signal));
  leaving.abort();
  await reading;
  held.resolve();
  assert.equal((await running.finished).status, "completed");
});

test("[R1] [V2] if the store already has an end of the turn, its listeners receive that one, and the process continues", async (t) => {
  const records = memoryRecords();
  const { finish: finishTurn } = records.turns;
  const { get: getTurn } = records.turns;
  records.turns.finish = async (finish) => {
    await finishTurn.call(records.turns, finish);
    return { outcome: "refused", turn: null };
  };
  // As a real store's, its answers come in a later round of the event loop: who asks without waiting never gets there.
  records.turns.get = async (id) => {
    await new Promise((resolve) => setImmediate(resolve));
    return await getTurn.call(records.turns, id);
  };
  const { start } = await testEngine(t, testParts({ records }));
  const turn = await start("one");
  const [events, finished] = await Promise.all([all(turn.events()), turn.finished]);
  assert.equal(finished.status, "completed");
  assert.equal(events.at(-1)?.event.type, "run_finished");
});

test("[V2] [T11] a slow listener of a turn whose end cannot be written receives all of its events first", async (t) => {
  const records = memoryRecords();
  let isFull = true;
  const { finish: finishTurn } = records.turns;
  records.turns.finish = (finish) =>
    isFull ? Promise.reject(new AptoveError("storage_full", "no room")) : finishTurn.call(records.turns, finish);
  const { start, ask, engine } = await testEngine(t, { records, script });
  const turn = await start("one");
  const received: SequencedEvent[] = [];
  const listening = async (): Promise<void> => {
    for await (const event of turn.events()) {
      received.push(event);
      await turn.finished;
    }
  };
  await assert.rejects(listening(), { code: "storage_full", message: /could not be stored/ });
  const again = (): Promise<unknown> => engine.turns.events(alice, turn.turnId, { afterSeq: received.length });
  await assert.rejects(again(), { code: "storage_full", message: /could not be stored/ });
  isFull = false;
  await ask("two", { sessionId: turn.sessionId });
  const whole = await all(await engine.turns.events(alice, turn.turnId, { afterSeq: 0 }));
  assert.deepEqual(received, whole.slice(0, -1));
});

test("[V2] [T11] [S5] who listens while a turn ends whose output cannot be stored gets what is read later, on every server", async (t) => {
  const parts = testParts({ script: () => [{ says: "half" }] });
  const written = Promise.withResolvers<void>();
  const readElsewhere = Promise.withResolvers<void>();
  const { put } = parts.blobs;
  parts.blobs.put = async (key, bytes) => {
    if (key.includes("/run")) throw new AptoveError("storage_full", "no room");
    await put.call(parts.blobs, key, bytes);
  };
  const { finish } = parts.records.turns;
  parts.records.turns.finish = async (end) => {
    const result = await finish.call(parts.records.turns, end);
    written.resolve();
    return result;
  };
  const { append } = parts.log;
  parts.log.append = async (turnId, events, mayWrite) => {
    if (events.some(isTerminal)) await readElsewhere.promise;
    await append.call(parts.log, turnId, events, mayWrite);
  };
  const one = await testEngine(t, { ...parts, isAlive: () => true });
  const two = await testEngine(t, { ...parts, isAlive: () => true, runner: testRunner() });
  const turn = await one.start("go");
  const here = all(turn.events());
  await written.promise;
  const elsewhere = await all(await two.engine.turns.events(alice, turn.turnId, { afterSeq: 0 }));
  readElsewhere.resolve();
  await turn.finished;
  const stored = await all(await two.engine.turns.events(alice, turn.turnId, { afterSeq: 0 }));
  assert.ok(stored.some(({ event }) => event.type === "warning" && event.warning.code === "history_not_kept"));
  assert.deepEqual(elsewhere, stored);
  assert.deepEqual(await here, stored);
});

test("[R1] [V2] where another process has taken the turn and not ended it yet, its listeners are let go", async (t) => {
  const records = memoryRecords();
  let isTaken = true;
  const { finish: finishTurn } = records.turns;
  records.turns.finish = async (finish) =>
    isTaken ? { outcome: "refused", turn: null } : await finishTurn.call(records.turns, finish);
  const { start, engine } = await testEngine(t, testParts({ records }));
  const turn = await start("one");
  const received: SequencedEvent[] = [];
  const hear = async (from: AsyncIterable<SequencedEvent>): Promise<void> => {
    for await (const event of from) received.push(event);
  };
  await assert.rejects(hear(turn.events()), { code: "runner_lost", message: /follow it again/ });
  const ended = await turn.finished;
  assert.equal(ended.status === "failed" && ended.failures[0].code, "runner_lost");
  isTaken = false;
  await engine.turns.run(alice, { sessionId: turn.sessionId, instruction: "two" });
  await hear(await engine.turns.events(alice, turn.turnId, { afterSeq: received.at(-1)?.seq ?? 0 }));
  const events = await all(await engine.turns.events(alice, turn.turnId, { afterSeq: 0 }));
  assert.deepEqual(received, events);
  assert.equal(events.at(-1)?.event.type, "run_failed");
});

test("[T13] [R1] the end of a repeated request is known although this process lost the turn to another one", async (t) => {
  const records = memoryRecords();
  let isTaken = true;
  const { finish: finishTurn } = records.turns;
  records.turns.finish = async (finish) =>
    isTaken ? { outcome: "refused", turn: null } : await finishTurn.call(records.turns, finish);
  const held = Promise.withResolvers<void>();
  const waits = () => [{ says: "half" }, { waits: held.promise }];
  const { start, engine } = await testEngine(t, testParts({ records, script: waits }));
  const turn = await start("one", { idempotencyKey: "k" });
  const again = await start("one", { idempotencyKey: "k" });
  await engine.turns.interrupt(alice, { turnId: turn.turnId });
  held.resolve();
  await turn.finished;
  isTaken = false;
  const next = await start("two", { sessionId: turn.sessionId });
  assert.equal((await again.finished).status, "failed");
  await next.finished;
});

test("[T13] [R4] a repeated request gets the end of a turn that is still being opened here when this process stops", async (t) => {
  const records = memoryRecords();
  const [rowWritten, opened, looks] = [0, 1, 2].map(() => Promise.withResolvers<void>());
  assert.ok(rowWritten !== undefined && opened !== undefined && looks !== undefined);
  const { open, findIdempotent } = records.turns;
  records.turns.open = async (opening) => {
    const result = await open.call(records.turns, opening);
    rowWritten.resolve();
    await opened.promise;
    return result;
  };
  const { start, engine } = await testEngine(t, testParts({ records }));
  const first = start("one", { idempotencyKey: "k" });
  await rowWritten.promise;
  records.turns.findIdempotent = async (...key) => {
    await looks.promise;
    return await findIdempotent.call(records.turns, ...key);
  };
  const repeated = start("one", { idempotencyKey: "k" });
  const closing = engine.close({ graceMs: 60_000 });
  looks.resolve();
  const again = await repeated;
  opened.resolve();
  assert.deepEqual(await again.finished, await (await first).finished);
  await closing;
});

test("[T13] [R4] a repeated request of a turn that runs at another server is sent there when this one stops", async (t) => {
  const held = Promise.withResolvers<void>();
  const parts = testParts({ script: () => [{ waits: held.promise }, { says: "done" }] });
  const one = await testEngine(t, { ...parts, isAlive: () => true });
  const two = await testEngine(t, { ...parts, isAlive: () => true, runner: testRunner() });
  const first = await one.start("one", { idempotencyKey: "k" });
  const again = await two.start("one", { idempotencyKey: "k" });
  await two.engine.close({ graceMs: 0 });
  await assert.rejects(again.finished, { code: "shutting_down" });
  held.resolve();
  assert.equal((await first.finished).status, "completed");
});

test("[V2] a position that a finished turn never reached is refused with the last one that it has", async (t) => {
  const { ask, engine } = await testEngine(t);
  const turn = await ask("one");
  const count = (await all(await engine.turns.events(alice, turn.id, { afterSeq: 0 }))).length;
  const beyond = engine.turns.events(alice, turn.id, { afterSeq: count + 3 });
  await assert.rejects(beyond, {
    code: "event_id_unknown",
    facts: { turnId: turn.id, lastEventId: `${turn.id}:${count}` },
  });
});
