import assert from "node:assert/strict";
import { test } from "node:test";
import { alice, all, testEngine, testRunner, untilEvent } from "../../../testing/engine.ts";
import type { Script } from "../../providers/scripted/script.ts";
import { hasCode } from "../../../testing/refusals.ts";
import { memoryBlobs } from "../../blobs/memory/memory-blobs.ts";
import { AptoveError } from "../../domain/errors.ts";
import { memoryEventLog } from "../../live/memory/memory-event-log.ts";
import { memoryWakeUps } from "../../live/memory/memory-wake-ups.ts";
import { memoryRecords } from "../../records/memory/memory-records.ts";
import type { RunningTurn } from "../engine.ts";

test("[T5] queued requests run one after the other, in the order in which they came", async (t) => {
  const held = Promise.withResolvers<void>();
  const { start, engine } = await testEngine(t, {
    script: (_call, n) => (n === 1 ? [{ says: ["a ", held.promise] }] : `answer ${n}`),
  });
  const first = await start("one");
  const queued = ["two", "three", "four"].map((instruction) =>
    start(instruction, { sessionId: first.sessionId, ifBusy: "queue" }),
  );
  held.resolve();
  for (const running of await Promise.all(queued)) await running.finished;
  const turns = await engine.turns.list(alice, first.sessionId, {});
  assert.deepEqual(
    turns.map((turn) => turn.instructionSummary),
    ["four", "three", "two", "one"],
  );
  assert.ok(turns.every((turn) => turn.status === "completed"));
});

test("[T5] [T10] a request may interrupt the running turn and take its place", async (t) => {
  const never = new Promise<void>(() => {});
  const { start, ask } = await testEngine(t, {
    script: (_call, n) => (n === 1 ? [{ says: ["half ", "an ", never] }] : "instead"),
  });
  const first = await start("one");
  await untilEvent(first, "text_delta");
  const second = await ask("two", { sessionId: first.sessionId, ifBusy: "interrupt" });
  const stopped = await first.finished;
  assert.equal(stopped.status === "completed" && stopped.stopReason, "interrupted");
  assert.equal(second.parentId, stopped.id);
});

test("[T5] [V4] a request may steer the running turn: the model gets it at its next step, and it is part of the turn", async (t) => {
  const held = Promise.withResolvers<void>();
  const { start, provider, answer, engine } = await testEngine(t, {
    script: (_call, n) => (n === 1 ? [{ says: ["first thoughts", held.promise] }] : "second thoughts"),
  });
  const running = await start("think");
  await untilEvent(running, "text_started");
  const joined = await start("but briefly", { sessionId: running.sessionId, ifBusy: "steer" });
  assert.deepEqual([joined.turnId, joined.isRepeat], [running.turnId, true]);
  held.resolve();
  const turn = await joined.finished;
  assert.equal(turn.status, "completed");
  assert.equal(await answer(turn.id), "first thoughts\n\nsecond thoughts");
  assert.deepEqual(
    provider.exchanges[1]?.context.map((item) => item.type),
    ["user", "assistant", "user"],
  );
  const events = await all(await engine.turns.events(alice, turn.id, { afterSeq: 0 }));
  assert.ok(events.some(({ event }) => event.type === "steered" && event.text === "but briefly"));
  assert.equal((await engine.turns.list(alice, turn.sessionId, {})).length, 1);
});

test("[V4] steering what does not run is refused", async (t) => {
  const { ask, engine } = await testEngine(t);
  const turn = await ask("one");
  for (const target of [{ turnId: turn.id }, { sessionId: turn.sessionId }]) {
    await assert.rejects(engine.turns.steer(alice, { ...target, text: "late" }), hasCode("turn_not_running"));
  }
  assert.equal(await engine.turns.interrupt(alice, { turnId: turn.id }), null);
});

test("[R3] [V4] a turn that runs in another process is steered and interrupted by notes that its runner follows", async (t) => {
  const first = Promise.withResolvers<void>();
  const never = new Promise<void>(() => {});
  const owner = await testEngine(t, {
    script: (_call, n) => (n === 1 ? [{ says: ["one ", first.promise] }] : [{ says: ["two ", never] }]),
  });
  const other = await testEngine(t, { ...owner.deps, runner: testRunner() });
  const running = await owner.start("go");
  await untilEvent(running, "text_started");
  assert.equal(
    await other.engine.turns.steer(alice, { sessionId: running.sessionId, text: "and more" }),
    running.turnId,
  );
  first.resolve();
  for await (const { event } of running.events())
    if (event.type === "text_delta" && event.delta.startsWith("two")) break;
  assert.equal(await other.engine.turns.interrupt(alice, { turnId: running.turnId }), running.turnId);
  const turn = await running.finished;
  assert.equal(turn.status === "completed" && turn.stopReason, "interrupted");
  assert.equal(await owner.answer(turn.id), "one \n\ntwo ");
});

test("[R3] with wake-ups the runner takes a note at once, and not when it looks next", async (t) => {
  // No process polls on its own.
  t.mock.timers.enable({ apis: ["setInterval"] });
  const never = new Promise<void>(() => {});
  const owner = await testEngine(t, { script: () => [{ says: ["one ", never] }], wakeUps: memoryWakeUps() });
  const other = await testEngine(t, { ...owner.deps, runner: testRunner() });
  const running = await owner.start("go");
  await untilEvent(running, "text_started");
  await other.engine.turns.interrupt(alice, { turnId: running.turnId });
  const turn = await running.finished;
  assert.equal(turn.status === "completed" && turn.stopReason, "interrupted");
});

test("[V4] a message for a turn that then waits for its client is not lost in silence", async (t) => {
  const held = Promise.withResolvers<void>();
  const { start, engine } = await testEngine(t, {
    script: () => [{ waits: held.promise }, { calls: "there", callId: "c1" }],
  });
  const running = await start("go", { tools: [{ name: "there", parameters: { type: "object" } }] });
  await engine.turns.steer(alice, { turnId: running.turnId, text: "wait" });
  held.resolve();
  const turn = await running.finished;
  assert.equal(turn.status, "awaiting_tool_results");
  assert.ok(turn.warnings.some(({ code, message }) => code === "steer_undelivered" && message.includes("wait")));
});

test("[T5] a request in line waits also for a turn that is still being prepared", async (t) => {
  const searching = Promise.withResolvers<void>();
  const found = Promise.withResolvers<never[]>();
  const retriever = {
    search: () => (searching.resolve(), found.promise),
    index: () => assert.fail(),
    list: async () => [],
    close: async () => {},
  };
  const { start, ask } = await testEngine(t, { retrievers: new Map([["local", retriever]]) });
  const first = await ask("one");
  const preparing = start("two", { sessionId: first.sessionId, repo: "here" });
  await searching.promise;
  const queued = start("three", { sessionId: first.sessionId, ifBusy: "queue" });
  found.resolve([]);
  const second = await (await preparing).finished;
  assert.equal((await (await queued).finished).parentId, second.id);
});

/** A retriever whose search waits until `goOn` is called. */
function slowRetriever() {
  const searching = Promise.withResolvers<void>();
  const found = Promise.withResolvers<never[]>();
  const retriever = {
    search: () => (searching.resolve(), found.promise),
    index: () => assert.fail(),
    list: async () => [],
    close: async () => {},
  };
  return { retriever, searching: searching.promise, goOn: () => found.resolve([]) };
}

test("[T5] [V4] a message for a turn that is still being prepared joins it once it is open", async (t) => {
  const { retriever, searching, goOn } = slowRetriever();
  const held = Promise.withResolvers<void>();
  const { start, ask } = await testEngine(t, {
    retrievers: new Map([["local", retriever]]),
    script: (_call, n) => (n === 2 ? [{ waits: held.promise }, { says: "thinking" }] : `answer ${n}`),
  });
  const first = await ask("one");
  const preparing = start("two", { sessionId: first.sessionId, repo: "here" });
  await searching;
  const joining = start("but briefly", { sessionId: first.sessionId, ifBusy: "steer" });
  goOn();
  const [running, joined] = await Promise.all([preparing, joining]);
  assert.deepEqual([joined.turnId, joined.isRepeat], [running.turnId, true]);
  held.resolve();
  await running.finished;
  const steered = (await all(running.events())).filter(({ event }) => event.type === "steered");
  assert.equal(steered.length, 1);
});

test("[V4] a message for a turn that is being prepared is accepted when the turn is open, and is refused with it", async (t) => {
  for (const isRefused of [false, true]) {
    const { retriever, searching, goOn } = slowRetriever();
    const { start, ask, engine, deps } = await testEngine(t, { retrievers: new Map([["local", retriever]]) });
    const { sessionId } = await ask("one");
    const preparing = start("two", { sessionId, repo: "here" });
    await searching;
    const steered = engine.turns.steer(alice, { sessionId, text: "briefly" });
    if (isRefused) deps.records.turns.open = async () => ({ outcome: "archived" });
    goOn();
    const [running, message] = await Promise.allSettled([preparing, steered]);
    if (running.status === "fulfilled") {
      assert.equal(message.status === "fulfilled" && message.value, running.value.turnId);
      await running.value.finished;
    } else assert.equal(message.status === "rejected" && message.reason.code, "turn_not_running");
    assert.equal(running.status === "rejected", isRefused);
    assert.deepEqual(
      (await deps.blobs.list("turns/")).filter((key) => key.includes("/steer-")),
      [],
    );
  }
});

test("[T13] the same request sent twice at once gives one turn, also while the first is still being prepared", async (t) => {
  const { retriever, searching, goOn } = slowRetriever();
  const held = Promise.withResolvers<void>();
  const script: Script = (_call, n) => (n === 2 ? [{ waits: held.promise }, { says: "two" }] : "one");
  const { start, ask, engine } = await testEngine(t, { script, retrievers: new Map([["local", retriever]]) });
  const first = await ask("one");
  const twice = { sessionId: first.sessionId, repo: "here", idempotencyKey: "k" };
  const preparing = start("two", twice);
  await searching;
  const again = start("two", twice);
  goOn();
  const [one, same] = await Promise.all([preparing, again]);
  assert.deepEqual([same.turnId, same.isRepeat], [one.turnId, true]);
  const other = start("other", { sessionId: first.sessionId, repo: "here", idempotencyKey: "l" });
  await assert.rejects(other, hasCode("session_busy"));
  held.resolve();
  await one.finished;
  assert.equal((await engine.turns.list(alice, first.sessionId, {})).length, 2);
});

test("[V4] a message that came too late for a model call is in the record, however the turn ends", async (t) => {
  const ends = [
    { part: { fails: "provider_rejected" as const }, stops: false },
    { part: { waits: new Promise<void>(() => {}) }, stops: true },
  ];
  for (const { part, stops } of ends) {
    const held = Promise.withResolvers<void>();
    const { start, engine } = await testEngine(t, { script: () => [{ waits: held.promise }, part] });
    const running = await start("go");
    await engine.turns.steer(alice, { turnId: running.turnId, text: "too late" });
    if (stops) await engine.turns.interrupt(alice, { turnId: running.turnId });
    held.resolve();
    const turn = await running.finished;
    assert.equal(turn.status, "failed");
    assert.ok(turn.warnings.some(({ code, message }) => code === "steer_undelivered" && message.endsWith("too late")));
  }
});

test("[T5] a client that received the end of a turn may send the next request at once", async (t) => {
  const log = memoryEventLog();
  const dropping = Promise.withResolvers<void>();
  const { drop } = log;
  // It takes long to forget the events, and no request needs to wait for that.
  log.drop = async (turnId) => (await dropping.promise, await drop.call(log, turnId));
  const { start } = await testEngine(t, { log });
  const first = await start("one");
  await all(first.events());
  const second = await start("two", { sessionId: first.sessionId });
  assert.notEqual(second.turnId, first.turnId);
  dropping.resolve();
});

test("[T13] [T5] the same message with the same key steers once, from any process", async (t) => {
  const held = Promise.withResolvers<void>();
  const owner = await testEngine(t, {
    script: (_call, n) => (n === 1 ? [{ says: ["one", held.promise] }] : `answer ${n}`),
  });
  const other = await testEngine(t, { ...owner.deps, runner: testRunner() });
  const running = await owner.start("go");
  await untilEvent(running, "text_started");
  const again = { sessionId: running.sessionId, ifBusy: "steer", idempotencyKey: "k" } as const;
  for (const engine of [owner, owner, other, other]) {
    assert.equal((await engine.start("and this", again)).turnId, running.turnId);
  }
  held.resolve();
  await running.finished;
  const steered = (await all(running.events())).filter(({ event }) => event.type === "steered");
  assert.equal(steered.length, 1);
});

test("[T13] [V4] a message that comes again with its key after the end of its turn is in that turn, and does nothing more", async (t) => {
  const held = Promise.withResolvers<void>();
  const owner = await testEngine(t, {
    script: (_call, n) => (n === 1 ? [{ says: ["one", held.promise] }] : `answer ${n}`),
  });
  const other = await testEngine(t, { ...owner.deps, runner: testRunner() });
  const running = await owner.start("go");
  const { sessionId, turnId } = running;
  await untilEvent(running, "text_started");
  const request = { sessionId, ifBusy: "steer", idempotencyKey: "k" } as const;
  await other.start("and this", request);
  held.resolve();
  await running.finished;
  // The sender did not get the answer, and sends it again.
  for (const { start } of [owner, other]) {
    const joined = await start("and this", request);
    assert.equal(joined.turnId, turnId);
    assert.equal((await joined.finished).id, turnId);
    await assert.rejects(start("and more", request), hasCode("idempotency_key_reused"));
  }
  assert.equal((await owner.engine.turns.list(alice, sessionId, {})).length, 1);
});

test("[T5] a request that waits for a turn that is then refused gets its own turn", async (t) => {
  for (const ifBusy of ["queue", "interrupt", "steer"] as const) {
    const { retriever, searching, goOn } = slowRetriever();
    const blobs = memoryBlobs();
    const { put } = blobs;
    let isFull = false;
    blobs.put = async (key, bytes) => {
      if (isFull) throw new AptoveError("storage_full", "no room");
      await put.call(blobs, key, bytes);
    };
    const { start, ask } = await testEngine(t, { retrievers: new Map([["local", retriever]]), blobs });
    const first = await ask("one");
    const preparing = start("two", { sessionId: first.sessionId, repo: "here" });
    await searching;
    isFull = true;
    const waiting = start("three", { sessionId: first.sessionId, ifBusy });
    goOn();
    await assert.rejects(preparing, hasCode("storage_full"));
    isFull = false;
    const turn = await (await waiting).finished;
    assert.deepEqual([turn.instructionSummary, turn.parentId], ["three", first.id]);
  }
});

test("[T5] [S5] a waiting request that names no head continues from the head of that moment", async (t) => {
  const records = memoryRecords();
  const { ask, start } = await testEngine(t, { records });
  const first = await ask("one");
  const { sessionId } = first;
  const second = await ask("two", { sessionId });
  const { open: openTurn } = records.turns;
  let hasMoved = false;
  records.turns.open = async (opening) => {
    // Another client moves the head after it was read and before the turn is opened.
    if (!hasMoved)
      await records.sessions.moveHead({ sessionId, from: second.id, to: first.id, userId: alice.userId, at: 1 });
    hasMoved = true;
    return await openTurn.call(records.turns, opening);
  };
  const turn = await (await start("three", { sessionId, ifBusy: "queue" })).finished;
  assert.equal(turn.parentId, first.id);
  hasMoved = false;
  await records.sessions.moveHead({ sessionId, from: turn.id, to: second.id, userId: alice.userId, at: 2 });
  const named = start("four", { sessionId, ifBusy: "queue", expectedHead: second.id });
  await assert.rejects(named, hasCode("head_moved"));
});

test("[V4] a message for a session whose turn opens while it is looked for goes to that turn at once", async (t) => {
  const records = memoryRecords();
  const held = Promise.withResolvers<void>();
  const { ask, start, engine } = await testEngine(t, {
    records,
    script: (_call, n) => (n === 2 ? [{ waits: held.promise }, { says: "so" }] : `answer ${n}`),
  });
  const { sessionId } = await ask("one");
  let running: RunningTurn | null = null;
  const { findPending: pendingTurn } = records.turns;
  records.turns.findPending = async (id) => {
    running ??= await start("two", { sessionId });
    return await pendingTurn.call(records.turns, id);
  };
  records.runners.insertControl = () => assert.fail("the turn runs here");
  const turnId = await engine.turns.steer(alice, { sessionId, text: "briefly" });
  held.resolve();
  const events = await all(await engine.turns.events(alice, turnId, { afterSeq: 0 }));
  assert.ok(events.some(({ event }) => event.type === "steered" && event.text === "briefly"));
});

for (const looks of ["no look", "a regular look"]) {
  test(`[R3] [V4] a message from another process that comes while the end is being stored is part of the turn's record, with ${looks} in between`, async (t) => {
    const shared = { records: memoryRecords(), blobs: memoryBlobs(), log: memoryEventLog() };
    const stores = { ...shared, ...(looks === "a regular look" && { wakeUps: memoryWakeUps() }) };
    const { listControls } = stores.records.runners;
    let looked: (() => void) | null = null;
    stores.records.runners.listControls = async (runnerId) => {
      const found = await listControls.call(stores.records.runners, runnerId);
      setImmediate(() => looked?.());
      return found;
    };
    const other = await testEngine(t, { ...stores, runner: testRunner() });
    const { put } = stores.blobs;
    let sent = 0;
    stores.blobs.put = async (key, bytes) => {
      await put.call(stores.blobs, key, bytes);
      if (!/\/run(-\d+)?\.json$/.test(key) || sent === 2) return;
      sent += 1;
      const turnId = key.split("/")[1] ?? "";
      const untilLooked = new Promise<void>((resolve) => (looked = resolve));
      assert.equal(await other.engine.turns.steer(alice, { turnId, text: `late ${sent}` }), turnId);
      if (stores.wakeUps !== undefined) await untilLooked;
    };
    const { ask, engine } = await testEngine(t, stores);
    const turn = await ask("one");
    assert.equal(turn.status, "completed");
    assert.deepEqual(
      turn.warnings.map(({ code, message }) => [code, message.split(": ")[1]]),
      [
        ["steer_undelivered", "late 1"],
        ["steer_undelivered", "late 2"],
      ],
    );
    const events = await all(await engine.turns.events(alice, turn.id, { afterSeq: 0 }));
    assert.equal(events.filter(({ event }) => event.type === "warning").length, 2);
    assert.equal((await engine.explain.verify(alice, turn.sessionId)).fault, null);
    await assert.rejects(
      other.engine.turns.steer(alice, { turnId: turn.id, text: "too late" }),
      hasCode("turn_not_running"),
    );
  });
}

test("[R3] [V4] a message from another process is in the record of a turn whose end cannot be stored whole", async (t) => {
  const stores = { records: memoryRecords(), blobs: memoryBlobs(), log: memoryEventLog() };
  const other = await testEngine(t, { ...stores, runner: testRunner() });
  const { put } = stores.blobs;
  stores.blobs.put = async (key, bytes) => {
    if (!key.includes("/run")) return await put.call(stores.blobs, key, bytes);
    await other.engine.turns.steer(alice, { turnId: key.split("/")[1] ?? "", text: "too late" });
    throw new AptoveError("storage_full", "no room");
  };
  const { ask } = await testEngine(t, stores);
  const turn = await ask("one");
  assert.equal(turn.status === "failed" && turn.failures[0].code, "storage_full");
  assert.ok(turn.warnings.some(({ code, message }) => code === "steer_undelivered" && message.endsWith("too late")));
});

test("[T5] requests at once that name only the session run or are busy, and are never refused because the head moved", async (t) => {
  const { ask, engine } = await testEngine(t);
  const { sessionId } = await ask("one");
  const codes: unknown[] = [];
  for (let round = 0; round < 6; round += 1) {
    const tries = Array.from({ length: 8 }, (_, n) =>
      engine.turns.run(alice, { sessionId, instruction: `${round} ${n}` }),
    );
    for (const result of await Promise.allSettled(tries)) {
      if (result.status === "fulfilled") await result.value.finished;
      else codes.push((result.reason as AptoveError).code);
    }
  }
  assert.deepEqual([...new Set(codes)], ["session_busy"]);
});

test("[T5] [O1] a request that is withdrawn leaves its line without a turn, and none behind it passes those before it", async (t) => {
  const held = Promise.withResolvers<void>();
  const { start, engine, provider } = await testEngine(t, {
    script: (_call, n) => (n === 1 ? [{ says: ["a ", held.promise] }] : `answer ${n}`),
  });
  const { sessionId, turnId } = await start("one");
  const leaving = new AbortController();
  const { signal: withdrawn } = leaving;
  const queue = { sessionId, ifBusy: "queue" as const };
  const before = [start("two", queue), start("three", queue)];
  const left = [
    start("left in the line", { ...queue, withdrawn }),
    start("left after", { after: { turnId }, withdrawn }),
    start("left before a busy session", {
      sessionId,
      ifBusy: "steer",
      toolResults: [],
      withdrawn: AbortSignal.abort(),
    }),
  ];
  const behind = start("four", queue);
  const refused = left.map((each) => assert.rejects(each, hasCode("interrupted")));
  leaving.abort();
  await Promise.all(refused);
  held.resolve();
  for (const running of await Promise.all([...before, behind])) await running.finished;
  const turns = await engine.turns.list(alice, sessionId, {});
  assert.deepEqual(
    turns.map((turn) => turn.instructionSummary),
    ["four", "three", "two", "one"],
  );
  assert.equal(provider.exchanges.length, 4);
});
