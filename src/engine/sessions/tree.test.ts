import assert from "node:assert/strict";
import { test } from "node:test";
import { alice, testEngine, testRunner } from "../../../testing/engine.ts";
import { hasCode } from "../../../testing/refusals.ts";
import { newId } from "../../domain/ids.ts";
import { limits } from "../../domain/limits.ts";
import { memoryRecords } from "../../records/memory/memory-records.ts";

test("[T6] [S4] a fork is a new session whose first turn has any finished turn as its parent, with all history", async (t) => {
  const { ask, engine, provider } = await testEngine(t);
  const first = await ask("one");
  const second = await ask("two", { sessionId: first.sessionId });
  await ask("three", { sessionId: first.sessionId });
  const fork = await ask("another three", { fork: { turnId: second.id } });
  assert.deepEqual([fork.parentId, fork.depth, fork.sequence, fork.id], [second.id, 3, 1, fork.sessionId]);
  const session = await engine.sessions.get(alice, fork.sessionId);
  assert.deepEqual([session.originTurnId, session.headTurnId], [second.id, fork.id]);
  assert.deepEqual(
    provider.exchanges.at(-1)?.context.map((item) => item.type),
    ["user", "assistant", "user", "assistant", "user"],
  );
  const next = await ask("four", { sessionId: fork.sessionId });
  assert.deepEqual([next.parentId, next.sequence], [fork.id, 2]);
});

test("[T2] a turn that was left is archived: readable, listed and drawn as such, never continued; what others need stays", async (t) => {
  const { ask, engine } = await testEngine(t);
  const root = await ask("one");
  const { sessionId } = root;
  const left = await ask("two", { sessionId });
  const inUse = hasCode("turn_in_use");
  await assert.rejects(engine.tree.archiveTurn(alice, root.id), inUse);
  await assert.rejects(engine.tree.archiveTurn(alice, left.id), inUse);
  await engine.tree.moveHead(alice, { sessionId, from: left.id, to: root.id });
  const archived = await engine.tree.archiveTurn(alice, left.id);
  assert.deepEqual([archived.status, archived.was.status], ["archived", "completed"]);
  assert.deepEqual(await engine.tree.archiveTurn(alice, left.id), archived);
  const read = await engine.turns.read(alice, left.id);
  assert.equal(await read.instruction(), "two");
  assert.notEqual(await read.answer(), "");
  const graph = await engine.tree.graph(alice, sessionId);
  assert.deepEqual(
    graph.turns.map(({ id, status }) => [id, status]),
    [
      [left.id, "archived"],
      [root.id, "completed"],
    ],
  );
  await assert.rejects(ask("three", { fork: { turnId: left.id } }), hasCode("turn_not_continuable"));
  await assert.rejects(
    engine.tree.moveHead(alice, { sessionId, from: root.id, to: left.id }),
    hasCode("turn_not_continuable"),
  );
  assert.equal((await engine.explain.verify(alice, sessionId)).fault, null);
  const next = await ask("three", { sessionId });
  assert.deepEqual([next.status, next.parentId], ["completed", root.id]);
  const bob = { ...alice, userId: newId(), role: "member" as const };
  await assert.rejects(engine.tree.archiveTurn(bob, left.id), hasCode("not_found"));
});

test("[T6] a session can be forked before there is anything to ask, and begins where it was forked", async (t) => {
  const { ask, engine } = await testEngine(t);
  const first = await ask("one");
  const session = await engine.sessions.create(alice, { forkOf: first.id });
  assert.deepEqual([session.originTurnId, session.headTurnId, session.name], [first.id, null, "one"]);
  const turn = await ask("two", { sessionId: session.id });
  assert.deepEqual([turn.parentId, turn.id], [first.id, session.id]);
});

test("[T6] forks of failed, running, foreign and unknown turns are refused", async (t) => {
  const never = new Promise<void>(() => {});
  const { ask, start, engine } = await testEngine(t, {
    script: (_call, n) => (n === 1 ? [{ fails: "provider_rejected" as const }] : [{ waits: never }]),
  });
  const failed = await ask("one");
  await assert.rejects(start("x", { fork: { turnId: failed.id } }), hasCode("turn_not_continuable"));
  const running = await start("two");
  await assert.rejects(start("x", { fork: { turnId: running.turnId } }), hasCode("turn_not_continuable"));
  await assert.rejects(start("x", { fork: { turnId: newId() } }), hasCode("not_found"));
  const stranger = { ...alice, userId: newId() };
  await assert.rejects(
    engine.turns.run(stranger, { instruction: "x", fork: { turnId: failed.id } }),
    hasCode("not_found"),
  );
});

test("[T7] a rerun of the head is its sibling and takes its place; the old turn stays as it was", async (t) => {
  const { ask, engine, provider } = await testEngine(t);
  const first = await ask("one");
  const old = await ask("two", { sessionId: first.sessionId, mode: "edit" });
  const before = await engine.turns.get(alice, old.id);
  const again = await ask("", { rerun: { turnId: old.id } });
  assert.deepEqual(
    [again.rerunOf, again.parentId, again.sessionId, again.sequence],
    [old.id, first.id, first.sessionId, 3],
  );
  assert.equal(again.mode, "edit");
  assert.equal(await (await engine.turns.read(alice, again.id)).instruction(), "two");
  assert.equal((await engine.sessions.get(alice, first.sessionId)).headTurnId, again.id);
  assert.deepEqual(await engine.turns.get(alice, old.id), before);
  assert.deepEqual(provider.exchanges[2]?.context, provider.exchanges[1]?.context);
  const changed = await ask("two, but better", { rerun: { turnId: again.id } });
  assert.equal(changed.instructionSummary, "two, but better");
});

test("[T7] [T6] a rerun of an older turn is a fork; a failed try is repeated in its place", async (t) => {
  const { ask, engine } = await testEngine(t, {
    script: (_call, n) => (n === 3 ? [{ fails: "provider_rejected" as const }] : `answer ${n}`),
  });
  const first = await ask("one");
  const second = await ask("two", { sessionId: first.sessionId });
  const failed = await ask("three", { sessionId: first.sessionId });
  assert.equal(failed.status, "failed");
  const retried = await ask("", { rerun: { turnId: failed.id } });
  assert.deepEqual([retried.sessionId, retried.parentId, retried.status], [first.sessionId, second.id, "completed"]);
  const other = await ask("", { rerun: { turnId: first.id } });
  assert.notEqual(other.sessionId, first.sessionId);
  assert.deepEqual([other.parentId, other.rerunOf], [null, first.id]);
  assert.equal((await engine.sessions.get(alice, first.sessionId)).headTurnId, retried.id);
});

test("[S5] [T6] the head moves from where it was seen, and only to a continuable turn of the session", async (t) => {
  const { ask, engine } = await testEngine(t);
  const first = await ask("one");
  const second = await ask("two", { sessionId: first.sessionId });
  const { sessionId } = first;
  const move = (from: string | null, to: string) => engine.tree.moveHead(alice, { sessionId, from, to });
  await assert.rejects(move(first.id, first.id), hasCode("head_moved"));
  assert.equal((await move(second.id, first.id)).headTurnId, first.id);
  const third = await ask("three", { sessionId });
  assert.equal(third.parentId, first.id);
  const elsewhere = await ask("other session");
  await assert.rejects(move(third.id, elsewhere.id), hasCode("turn_not_continuable"));
  const tries = await Promise.allSettled([move(third.id, first.id), move(third.id, second.id)]);
  assert.equal(tries.filter(({ status }) => status === "fulfilled").length, 1);
});

test("[S6] an archived session is readable and takes no turns; unarchived it goes on", async (t) => {
  const { ask, start, engine } = await testEngine(t);
  const turn = await ask("one");
  await engine.tree.archive(alice, turn.sessionId);
  await assert.rejects(start("two", { sessionId: turn.sessionId }), hasCode("session_archived"));
  assert.equal((await engine.turns.get(alice, turn.id)).id, turn.id);
  await engine.tree.unarchive(alice, turn.sessionId);
  assert.equal((await ask("two", { sessionId: turn.sessionId })).status, "completed");
});

test("[S6] [K4] a removed session is gone until restored; purged, its blobs go but for what forks rest on", async (t) => {
  const { ask, engine, deps, provider } = await testEngine(t);
  const first = await ask("one");
  const second = await ask("two", { sessionId: first.sessionId });
  const third = await ask("three", { sessionId: first.sessionId });
  const fork = await ask("fork", { fork: { turnId: second.id } });
  await engine.tree.remove(alice, first.sessionId);
  await assert.rejects(engine.sessions.get(alice, first.sessionId), hasCode("not_found"));
  await engine.tree.restore(alice, first.sessionId);
  assert.equal((await engine.sessions.get(alice, first.sessionId)).id, first.sessionId);
  await engine.tree.remove(alice, first.sessionId);
  assert.deepEqual(
    (await engine.tree.listRemoved(alice)).map(({ id }) => id),
    [first.sessionId],
  );
  const report = await engine.tree.purge(alice, first.sessionId);
  assert.deepEqual([report.turnsPurged, report.turnsKept], [1, 2]);
  assert.deepEqual(await deps.blobs.list(`turns/${third.id}/`), []);
  const cold = await testEngine(t, { ...deps, runner: testRunner(), conversation: { history: "replay" } });
  const next = await cold.ask("still all there?", { sessionId: fork.sessionId });
  assert.equal(next.status, "completed");
  assert.equal(cold.provider.exchanges.at(-1)?.context.length, 7);
  assert.ok(provider.exchanges.length > 0);
});

test("[K4] only what no turn needs is collected, a dry run says the same, and young blobs are left alone", async (t) => {
  const { ask, engine, deps } = await testEngine(t, { now: () => Date.now() + 2 * 3_600_000 });
  const turn = await ask("one");
  const orphan = newId();
  await deps.blobs.put(`turns/${orphan}/opening.json`, Buffer.from("{}"));
  await deps.blobs.put(`turns/${turn.id}/request-9.json`, Buffer.from("{}"));
  const before = await deps.blobs.list("");
  const expected = [`turns/${orphan}/opening.json`, `turns/${turn.id}/request-9.json`].toSorted();
  const dry = await engine.tree.collectGarbage(alice, { dryRun: true });
  assert.deepEqual(dry.keys, expected);
  assert.deepEqual((await deps.blobs.list("")).toSorted(), before.toSorted());
  assert.deepEqual(await engine.tree.collectGarbage(alice, { dryRun: false }), dry);
  assert.deepEqual((await engine.tree.collectGarbage(alice, { dryRun: false })).keys, []);
  const young = await testEngine(t);
  await young.deps.blobs.put(`turns/${newId()}/opening.json`, Buffer.from("{}"));
  assert.deepEqual((await young.engine.tree.collectGarbage(alice, { dryRun: true })).keys, []);
});

test("[S8] search finds words spread over turns and says where; signs are plain text", async (t) => {
  const { ask, engine } = await testEngine(t, {
    script: (_call, n) => (n === 1 ? "the discount is 100%_sure" : "nothing"),
  });
  const turn = await ask("where are prices rounded?");
  await ask('and {"json": true}?', { sessionId: turn.sessionId });
  const find = async (text: string) => (await engine.tree.search(alice, { text })).map(({ session }) => session.id);
  for (const text of ["prices discount", "100%_", '{"json"', "ROUNDED nothing"])
    assert.deepEqual(await find(text), [turn.sessionId], text);
  for (const text of ["prices missing", "100x_", "_sure%"]) assert.deepEqual(await find(text), [], text);
  const [hit] = await engine.tree.search(alice, { text: "discount" });
  assert.equal(hit?.matches[0]?.where, "answer");
  await assert.rejects(engine.tree.search(alice, { text: "  " }), hasCode("request_invalid"));
});

test("[T6] the graph of a session shows the lineage above it and the forks beside it, as far as the caller may see", async (t) => {
  const { ask, engine } = await testEngine(t);
  const first = await ask("one");
  const second = await ask("two", { sessionId: first.sessionId });
  const fork = await ask("fork", { fork: { turnId: first.id } });
  const ofFork = await engine.tree.graph(alice, fork.sessionId);
  assert.deepEqual(
    ofFork.turns.map(({ id }) => id),
    [fork.id, first.id],
  );
  const ofFirst = await engine.tree.graph(alice, first.sessionId);
  assert.deepEqual(
    ofFirst.turns.map(({ id }) => id),
    [second.id, first.id],
  );
  assert.deepEqual(
    ofFirst.forks.map(({ turnId, count, newest }) => [turnId, count, newest.map(({ id }) => id)]),
    [[first.id, 1, [fork.sessionId]]],
  );
  const colleague = { ...alice, userId: newId(), role: "member" } as const;
  await engine.sharing.change(alice, first.sessionId, { isPublic: true });
  assert.deepEqual((await engine.tree.graph(colleague, first.sessionId)).forks, []);
});

test("[T6] [U11] a graph is read in pages, on over the turns that the session was forked from; no page begins at a turn of others", async (t) => {
  const { ask, engine } = await testEngine(t);
  const one = await ask("one");
  const two = await ask("two", { sessionId: one.sessionId });
  const three = await ask("three", { fork: { turnId: two.id } });
  const four = await ask("four", { sessionId: three.sessionId });
  const other = await ask("other");
  const pages: string[][] = [];
  for (let after: string | null | undefined; after !== null;) {
    const page = await engine.tree.graph(alice, four.sessionId, { limit: 1, ...(after !== undefined && { after }) });
    pages.push(page.turns.map(({ id }) => id));
    after = page.nextAfter;
  }
  assert.deepEqual(pages, [[four.id], [three.id], [two.id], [one.id]]);
  for (const after of [other.id, newId()]) {
    await assert.rejects(engine.tree.graph(alice, four.sessionId, { after }), hasCode("not_found"));
  }
});

test("[T6] [U5] [U11] a turn with many forks names the newest and counts all", async (t) => {
  const { ask, engine } = await testEngine(t);
  const turn = await ask("one");
  for (let n = 0; n < 12; n++) await engine.sessions.create(alice, { forkOf: turn.id });
  const { forks } = await engine.tree.graph(alice, turn.sessionId);
  assert.deepEqual(
    forks.map(({ count, newest }) => [count, newest.length]),
    [[12, limits.graphForksPerTurnMax]],
  );
  const { sessions } = await engine.tree.forest(alice, {});
  assert.equal(sessions.length, 1 + limits.forestForksPerTurnMax);
  assert.deepEqual(sessions[0]?.forks, [
    { turnId: turn.id, sessionId: turn.sessionId, sequence: 1, depth: 1, count: 12 },
  ]);
});

test("[U5] the forest has each fork after its origin; a session whose origin is gone or hidden is a root", async (t) => {
  const { ask, engine } = await testEngine(t);
  const first = await ask("about prices");
  const fork = await ask("about dates", { fork: { turnId: first.id } });
  const deeper = await ask("about hats", { fork: { turnId: fork.id } });
  const other = await ask("other");
  const seen = async (request = {}, caller = alice) =>
    (await engine.tree.forest(caller, request)).sessions.map(({ session, origin }) => [session.id, origin?.turnId]);
  const tree = [
    [first.sessionId, undefined],
    [fork.sessionId, first.id],
    [deeper.sessionId, fork.id],
  ];
  assert.deepEqual(await seen(), [[other.sessionId, undefined], ...tree]);
  assert.deepEqual(await seen({ below: fork.sessionId }), [[fork.sessionId, undefined], tree[2]]);
  // What the found session was forked from is there too.
  assert.deepEqual(await seen({ text: "hats" }), tree);

  const colleague = { ...alice, userId: newId(), role: "member" } as const;
  await engine.sharing.change(alice, fork.sessionId, { isPublic: true });
  assert.deepEqual(await seen({}, colleague), [[fork.sessionId, undefined]]);
  assert.deepEqual(await seen({ text: "dates" }, colleague), [[fork.sessionId, undefined]]);
  await assert.rejects(engine.tree.forest(colleague, { below: first.sessionId }), hasCode("not_found"));

  await engine.tree.remove(alice, first.sessionId);
  const left = await seen();
  assert.ok(left.some(([id, origin]) => id === fork.sessionId && origin === undefined));
  assert.ok(!left.some(([id]) => id === first.sessionId));
});

test("[H4] [S6] a removed session of another user is not found", async (t) => {
  const { ask, engine } = await testEngine(t);
  const turn = await ask("one");
  await engine.tree.remove(alice, turn.sessionId);
  const colleague = { ...alice, userId: newId(), role: "member" } as const;
  for (const call of [engine.tree.restore, engine.tree.purge]) {
    await assert.rejects(call(colleague, turn.sessionId), hasCode("not_found"));
  }
});

test("[T7] [T9] a rerun of an answer to tools takes other results where they are given", async (t) => {
  const tools = [{ name: "look", parameters: { type: "object" } }];
  const script = (_call: unknown, n: number) => (n === 1 ? [{ calls: "look", callId: "c1" }] : `answer ${n}`);
  const { ask, provider } = await testEngine(t, { script });
  const parked = await ask("look", { tools });
  const results = (output: string) => [{ callId: "c1", output, isError: false }];
  const answered = await ask("", { sessionId: parked.sessionId, tools, toolResults: results("first") });
  await ask("", { rerun: { turnId: answered.id }, tools, toolResults: results("second") });
  assert.ok(JSON.stringify(provider.exchanges.at(-1)?.context).includes("second"));
  await ask("", { rerun: { turnId: answered.id }, tools });
  assert.ok(JSON.stringify(provider.exchanges.at(-1)?.context).includes("first"));
});

test("[K4] [B1] the opening of a session that was made long ago is no garbage while its first turn is being opened", async (t) => {
  const records = memoryRecords();
  const { ask, engine } = await testEngine(t, { records });
  const blank = await engine.sessions.create(alice, { name: "later" });
  const old = { ...blank, id: "01000000-0000-7000-8000-000000000000" };
  await records.sessions.insert(old);
  const { open: openTurn } = records.turns;
  let collected: string[] = [];
  records.turns.open = async (opening) => {
    collected = (await engine.tree.collectGarbage(alice, { dryRun: false })).keys;
    return await openTurn.call(records.turns, opening);
  };
  const turn = await ask("at last", { sessionId: old.id });
  assert.deepEqual([turn.id, collected], [old.id, []]);
  assert.equal(await (await engine.turns.read(alice, turn.id)).instruction(), "at last");
});

test("[K4] [B1] a turn that ends while garbage is collected keeps its blobs, however old its session is", async (t) => {
  const records = memoryRecords();
  const { ask, engine } = await testEngine(t, { records });
  const blank = await engine.sessions.create(alice, { name: "later" });
  const old = { ...blank, id: "01000000-0000-7000-8000-000000000000" };
  await records.sessions.insert(old);
  const { finish: finishTurn } = records.turns;
  const { blobKeysOf } = records.purges;
  const reached = Promise.withResolvers<void>();
  const ended = Promise.withResolvers<void>();
  records.turns.finish = async (finish) => {
    reached.resolve();
    await asked.promise;
    return await finishTurn.call(records.turns, finish);
  };
  const asked = Promise.withResolvers<void>();
  records.purges.blobKeysOf = async (turnId) => {
    const keys = await blobKeysOf.call(records.purges, turnId);
    asked.resolve();
    await ended.promise;
    return keys;
  };
  const asking = ask("x", { sessionId: old.id });
  await reached.promise;
  const collecting = engine.tree.collectGarbage(alice, { dryRun: false });
  // Where the keys are not asked for, because the turn runs, nothing holds its end back.
  await Promise.race([asked.promise, collecting.then(() => asked.resolve())]);
  const turn = await asking;
  ended.resolve();
  assert.deepEqual((await collecting).keys, []);
  assert.equal(await (await engine.turns.read(alice, turn.id)).answer(), "answer 1");
});

test("[O2] a hidden turn cannot be continued or found by its id, and what continues it stays whole", async (t) => {
  const { ask, engine, provider } = await testEngine(t, { remembers: false });
  const first = await ask("one", { isFindable: true });
  const second = await ask("two", { sessionId: first.sessionId });
  for (let times = 0; times < 2; times++) await engine.tree.hideTurn(alice, first.id);
  await assert.rejects(
    engine.turns.run(alice, { instruction: "x", after: { turnId: first.id } }),
    hasCode("not_found"),
  );
  assert.equal(
    await engine.turns.find(alice, [
      { type: "user", text: "one" },
      { type: "assistant", text: "answer 1" },
    ]),
    null,
  );
  await ask("three", { after: { turnId: second.id } });
  assert.equal(provider.exchanges[2]?.call.items.length, 5);
  assert.equal((await engine.explain.verify(alice, first.sessionId)).fault, null);
});

test("[O2] hiding a turn that nothing needs archives it", async (t) => {
  const { ask, engine } = await testEngine(t);
  const first = await ask("one");
  const other = await ask("two", { sessionId: first.sessionId });
  await engine.tree.undo(alice, first.sessionId);
  await engine.tree.hideTurn(alice, other.id);
  assert.equal((await engine.turns.get(alice, other.id)).status, "archived");
});
