/** Listeners learn what changes in their sessions, at every door, and nothing of what they may not see (U3, U8, H4). */
import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { limits } from "../../domain/limits.ts";
import { newId } from "../../domain/ids.ts";
import type { Caller } from "../../domain/caller.ts";
import type { SessionNews } from "../../domain/session-news.ts";
import { memoryEventLog } from "../../live/memory/memory-event-log.ts";
import { memoryWakeUps } from "../../live/memory/memory-wake-ups.ts";
import { memoryRecords } from "../../records/memory/memory-records.ts";
import { alice, testEngine, testRunner, type TestEngine } from "../../../testing/engine.ts";
import { addUser } from "../../../testing/people.ts";
import { endOfRound } from "../../system/rounds.ts";
import { differences, seenSessions } from "./session-differences.ts";

interface Listening {
  /** Resolves with the next piece of news. */
  next(): Promise<SessionNews>;
  /** Resolves with the kinds of news up to and including this one. */
  until(kind: string): Promise<string[]>;
}

async function listening(
  t: TestContext,
  { engine }: TestEngine,
  { caller = alice, ...opened }: { caller?: Caller; sessionId?: string } = {},
): Promise<Listening> {
  const gone = new AbortController();
  t.after(() => gone.abort());
  const news = engine.sessions.changes(caller, { signal: gone.signal, ...opened })[Symbol.asyncIterator]();
  const next = async (): Promise<SessionNews> => {
    const { done, value } = await news.next();
    return done === true ? assert.fail("the news have ended") : value;
  };
  assert.equal((await next()).type, "read_anew");
  const until = async (kind: string): Promise<string[]> => {
    const kinds: string[] = [];
    while (kinds.at(-1) !== kind) kinds.push(kindOf(await next()));
    return kinds;
  };
  return { next, until };
}

function kindOf(news: SessionNews): string {
  return news.type === "session_changed" ? news.what : news.type;
}

test("[U3] a listener learns of each thing that happens to a session", async (t) => {
  const held = Promise.withResolvers<void>();
  const world = await testEngine(t, { script: () => [{ waits: held.promise }, { says: "done" }] });
  const { engine } = world;
  const listener = await listening(t, world);
  const { id } = await engine.sessions.create(alice, { name: "one" });
  assert.partialDeepStrictEqual(await listener.next(), { type: "session_changed", sessionId: id, what: "created" });
  const running = await world.start("go", { sessionId: id });
  await listener.until("began");
  held.resolve();
  await running.finished;
  await listener.until("ended");
  await engine.sessions.update(alice, id, { name: "two" });
  await listener.until("renamed");
  await engine.tree.archive(alice, id);
  await listener.until("archived");
  await engine.tree.unarchive(alice, id);
  await listener.until("unarchived");
  await engine.tree.remove(alice, id);
  assert.deepEqual(await listener.until("gone"), ["gone"]);
});

test("[U3] [U8] [V5] a turn that waits, and the question of a client, arrive with the number of calls that wait", async (t) => {
  const world = await testEngine(t, { script: () => [{ calls: "write", callId: "c1", with: {} }] });
  const listener = await listening(t, world);
  const tools = [{ name: "write", parameters: { type: "object" }, effect: "write" as const }];
  const turn = await world.ask("go", { tools, mode: "edit" });
  assert.equal((await listener.until("waits")).includes("approvals_changed"), false, "the client was not asked yet");
  const view = { title: "Write", kind: "edit" as const, locations: [], content: [], permission: null };
  const question = { turnId: turn.id, callId: "c1", askerId: newId(), view };
  await world.engine.turns.askQuestion(alice, question);
  assert.partialDeepStrictEqual(await listener.next(), { type: "approvals_changed", count: 1 });
  await world.engine.turns.answerQuestion(alice, { turnId: turn.id, callId: "c1", approved: true });
  assert.partialDeepStrictEqual(await listener.next(), { type: "approvals_changed", count: 0 });
});

test("[U3] [H4] no listener learns of a session that it may not see; one that it may no longer see is gone", async (t) => {
  const world = await testEngine(t);
  const { engine, deps } = world;
  const bob = await addUser(deps.records, { orgId: alice.orgId, role: "member" });
  const asBob: Caller = { orgId: alice.orgId, userId: bob.id, role: "member" };
  const asDevice: Caller = { ...alice, workspaceId: "another" };
  const [listener, onDevice] = [
    await listening(t, world, { caller: asBob }),
    await listening(t, world, { caller: asDevice }),
  ];
  const hidden = await engine.sessions.create(alice, { name: "hidden" });
  const shown = await engine.sessions.create(alice, { name: "shown", isPublic: true });
  const first = await listener.next();
  assert.partialDeepStrictEqual(first, { type: "session_changed", sessionId: shown.id });
  await engine.sessions.update(alice, shown.id, { isPublic: false });
  assert.partialDeepStrictEqual(await listener.next(), { sessionId: shown.id, what: "gone" });
  const own = await engine.sessions.create({ ...alice, workspaceId: "another" }, { name: "of the device" });
  assert.partialDeepStrictEqual(await onDevice.next(), { sessionId: own.id, what: "created" });
  assert.notEqual(hidden.id, shown.id);
});

test("[U3] [U4] [H4] the session that a listener has open is news however old it is, and only if the listener may see it", async (t) => {
  let now = 1_000;
  const world = await testEngine(t, { now: () => (now += 1) });
  const { engine, deps } = world;
  const bob = await addUser(deps.records, { orgId: alice.orgId, role: "member" });
  const old = await engine.sessions.create(alice, { name: "old" });
  for (let at = 0; at < limits.changesSessionsMax; at++) await engine.sessions.create(alice, { name: String(at) });
  const without = await listening(t, world);
  const opened = await listening(t, world, { sessionId: old.id });
  const asBob = await listening(t, world, {
    caller: { orgId: alice.orgId, userId: bob.id, role: "member" },
    sessionId: old.id,
  });
  await engine.sessions.update(alice, old.id, { name: "older" });
  assert.partialDeepStrictEqual(await opened.next(), { sessionId: old.id, what: "renamed" });
  await engine.tree.archive(alice, old.id);
  assert.partialDeepStrictEqual(await opened.next(), { sessionId: old.id, what: "archived" });
  await engine.tree.remove(alice, old.id);
  assert.partialDeepStrictEqual(await opened.next(), { sessionId: old.id, what: "gone" });
  // What others receive next is about another session.
  const shown = await engine.sessions.create(alice, { name: "shown", isPublic: true });
  for (const other of [without, asBob]) assert.partialDeepStrictEqual(await other.next(), { sessionId: shown.id });
});

test("[U3] [R5] a listener that is too slow keeps little, and is asked to read everything again", async (t) => {
  const world = await testEngine(t);
  const slow = await listening(t, world);
  const quick = await listening(t, world);
  for (let at = 0; at <= limits.changesWaitingMax; at++) {
    await world.engine.sessions.create(alice, { name: String(at) });
    await quick.until("created");
  }
  assert.equal((await slow.next()).type, "read_anew");
  await world.engine.sessions.create(alice, { name: "later" });
  assert.equal(kindOf(await slow.next()), "created");
});

test("[U3] [V2] a listener at another server learns of it by a wake-up", async (t) => {
  const parts = { records: memoryRecords(), log: memoryEventLog(), wakeUps: memoryWakeUps() };
  const one = await testEngine(t, { ...parts, runner: testRunner() });
  const other = await testEngine(t, { ...parts, runner: testRunner() });
  const listener = await listening(t, other);
  const { id } = await one.engine.sessions.create(alice, { name: "elsewhere" });
  assert.partialDeepStrictEqual(await listener.next(), { sessionId: id, what: "created" });
});

test("[U3] [R4] the news end when the engine closes", async (t) => {
  const world = await testEngine(t);
  const listener = await listening(t, world);
  const last = assert.rejects(listener.next(), /the news have ended/);
  await world.engine.close();
  await last;
});

test("[U3] [R4] [R5] a listener that does not read does not keep a process busy that stops", async (t) => {
  const world = await testEngine(t);
  await listening(t, world);
  const created = [world.engine.sessions.create(alice, { name: "one" }), world.engine.sessions.create(alice, {})];
  await Promise.all(created);
  await world.engine.close();
  await endOfRound();
  assert.deepEqual(world.reports, []);
});

test("[U3] a store that fails for a while is reported once, and the changes arrive afterwards", async (t) => {
  const records = memoryRecords();
  let isAway = false;
  const list: typeof records.sessions.list = async (query) => {
    if (isAway) throw new Error("away");
    return await records.sessions.list(query);
  };
  const world = await testEngine(t, { records: { ...records, sessions: { ...records.sessions, list } } });
  const listener = await listening(t, world);
  isAway = true;
  await world.engine.sessions.create(alice, { name: "one" });
  await world.engine.sessions.create(alice, { name: "two" });
  while (world.reports.length === 0) await new Promise(setImmediate);
  isAway = false;
  await world.engine.sessions.create(alice, { name: "three" });
  for (let at = 0; at < 3; at++) assert.equal(kindOf(await listener.next()), "created");
  const fault = "the changes of sessions could not be read for listeners";
  assert.deepEqual(world.reports, [fault, `a fault is over: ${fault}`]);
});

test("[U3] of a list that is cut, a session that newer ones pushed out is not gone, and one that moved up is not new", async (t) => {
  const world = await testEngine(t);
  const made = [];
  for (const name of ["a", "b", "c", "d"]) made.push(await world.engine.sessions.create(alice, { name }));
  const [a, b, c, d] = made.map((session, at) => ({ ...session, activeAt: at }));
  assert.ok(a !== undefined && b !== undefined && c !== undefined && d !== undefined);
  const before = seenSessions([c, b], false);
  assert.deepEqual(differences(before, seenSessions([d, c], false)), [{ sessionId: d.id, what: "created" }]);
  assert.deepEqual(differences(before, seenSessions([b, a], false)), [{ sessionId: c.id, what: "gone" }]);
  assert.deepEqual(differences(before, seenSessions([c, b], false)), []);
});
