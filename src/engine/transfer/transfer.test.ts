import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { alice, all, testEngine, testRunner, type TestEngine } from "../../../testing/engine.ts";
import { temporaryFolder } from "../../../testing/temporary-folder.ts";
import { memoryBlobs } from "../../blobs/memory/memory-blobs.ts";
import type { BlobStore } from "../../blobs/blob-store.ts";
import { localOrgId, type Caller } from "../../domain/caller.ts";
import { AptoveError } from "../../domain/errors.ts";
import { newId } from "../../domain/ids.ts";
import { limits } from "../../domain/limits.ts";
import { archiveTurn, type FinishedTurn } from "../../domain/turn.ts";
import type { ModelCall } from "../../providers/provider.ts";
import { memoryRecords } from "../../records/memory/memory-records.ts";
import { openSqliteRecords } from "../../records/sql/sqlite/sqlite.ts";
import { ForgedFile } from "../../../testing/forged-exports.ts";
import { hasCode } from "../../../testing/refusals.ts";
import { replaceBlob } from "../../../testing/replace-blob.ts";
import type { ExportScope } from "./export.ts";

const bob: Caller = { orgId: "00000000-0000-7000-8000-00000000000b", userId: newId(), role: "member" };
const hour = 3_600_000;

async function* each(lines: readonly string[]): AsyncGenerator<string> {
  yield* lines;
}

async function exported({ engine }: TestEngine, scope: ExportScope, caller = alice): Promise<string[]> {
  return await all(engine.transfer.export(caller, scope));
}

/** Every blob of a store, by key. */
async function blobsOf(blobs: BlobStore): Promise<Map<string, string>> {
  const keys = (await blobs.list("turns/")).toSorted();
  const texts = await Promise.all(keys.map(async (key) => Buffer.from((await blobs.get(key)) ?? "").toString()));
  return new Map(keys.map((key, index) => [key, texts[index] ?? ""]));
}

/** A session with a rerun, a failure, a tool call and its answer. */
async function conversation(here: TestEngine): Promise<FinishedTurn[]> {
  const first = await here.ask('one "quoted" 😀');
  const { sessionId } = first;
  const tools = [{ name: "look", parameters: { type: "object" } }];
  const waiting = await here.ask("two: look", { sessionId, tools });
  const toolResults = [{ callId: "call_1", output: "seen", isError: false }];
  const answered = await here.ask("", { sessionId, tools, toolResults });
  const failed = await here.ask("fail", { sessionId });
  const again = await here.ask("three", { rerun: { turnId: answered.id } });
  return [first, waiting, answered, failed, again];
}

const script = (call: { items: readonly unknown[] }, n: number) => {
  const asked = JSON.stringify(call.items.at(-1));
  if (asked.includes("fail")) return [{ fails: "provider_rejected" as const }];
  if (asked.includes("two: look"))
    return [{ says: "let me see" }, { calls: "look", with: { at: 1 }, callId: "call_1" }];
  return `answer ${n}`;
};

test("[D2] [S3] [B1] a session goes to another aptove with ids, digests, steps and blobs as they are, and is the importer's", async (t) => {
  const here = await testEngine(t, { script });
  const there = await testEngine(t, { script });
  const turns = await conversation(here);
  const { sessionId } = turns[0] ?? assert.fail();
  await here.engine.sessions.update(alice, sessionId, { name: "Looking", isPublic: true, labels: ["a"] });
  const report = await there.engine.transfer.import(bob, each(await exported(here, { sessionId })));
  assert.deepEqual(report.sessions, [{ id: sessionId, name: "Looking", isNew: true }]);
  assert.deepEqual([report.turnsImported, report.turnsKnown], [5, 0]);

  for (const turn of turns) {
    assert.deepEqual(await there.engine.turns.get(bob, turn.id), turn);
    assert.deepEqual(
      await there.deps.records.turns.listSteps(turn.id),
      await here.deps.records.turns.listSteps(turn.id),
    );
  }
  assert.deepEqual(await blobsOf(there.deps.blobs), await blobsOf(here.deps.blobs));
  assert.equal(report.blobsImported, (await here.deps.blobs.list("turns/")).length);
  const ours = await here.engine.sessions.get(alice, sessionId);
  const { orgId, userId } = bob;
  assert.deepEqual(await there.engine.sessions.get(bob, sessionId), { ...ours, orgId, userId, isPublic: false });
  assert.equal((await there.engine.explain.verify(bob, sessionId)).fault, null);
  const hits = await there.engine.tree.search(bob, { text: "quoted answer" });
  assert.deepEqual(
    hits.map((hit) => hit.session.id),
    [sessionId],
  );
  const next = await there.engine.turns.run(bob, { instruction: "go on", sessionId });
  const finished = await next.finished;
  assert.deepEqual([finished.status, finished.sequence, finished.parentId], ["completed", 6, ours.headTurnId]);
});

test("[D2] the same session gives the same file, wherever it is", async (t) => {
  const here = await testEngine(t, { script });
  const there = await testEngine(t, { script });
  const [first = assert.fail()] = await conversation(here);
  const scope = { sessionId: first.sessionId };
  const lines = await exported(here, scope);
  assert.deepEqual(await exported(here, scope), lines);
  await there.engine.transfer.import(bob, each(lines));
  assert.deepEqual(await exported(there, scope, bob), lines);
});

test("importing twice changes nothing, on every store", async (t) => {
  const here = await testEngine(t, { script });
  const [first = assert.fail()] = await conversation(here);
  const lines = await exported(here, { sessionId: first.sessionId });
  for (const records of [
    memoryRecords(),
    await openSqliteRecords({ file: join(await temporaryFolder(t), "records.db") }),
  ]) {
    const there = await testEngine(t, { records });
    await there.engine.transfer.import(bob, each(lines));
    const session = await there.engine.sessions.get(bob, first.sessionId);
    const blobs = await blobsOf(there.deps.blobs);
    const again = await there.engine.transfer.import(bob, each(lines));
    assert.deepEqual([again.turnsImported, again.turnsKnown, again.blobsImported], [0, 5, 0]);
    assert.deepEqual(again.sessions, [{ id: session.id, name: session.name, isNew: false }]);
    assert.deepEqual(await there.engine.sessions.get(bob, first.sessionId), session);
    assert.deepEqual(await blobsOf(there.deps.blobs), blobs);
  }
});

test("[S6] [D2] a session that was purged and imported again counts each of its turns once, on every store", async (t) => {
  for (const records of [
    memoryRecords(),
    await openSqliteRecords({ file: join(await temporaryFolder(t), "records.db") }),
  ]) {
    const { ask, engine } = await testEngine(t, { script, records });
    const first = await ask("one");
    const { sessionId } = first;
    const second = await ask("two", { sessionId });
    await ask("three", { sessionId });
    const lines = await all(engine.transfer.export(alice, { sessionId }));
    const whole = await engine.sessions.get(alice, sessionId);
    await ask("another three", { fork: { turnId: second.id } });
    await engine.tree.remove(alice, sessionId);
    await engine.tree.purge(alice, sessionId);
    await engine.tree.restore(alice, sessionId);
    const rest = await engine.sessions.get(alice, sessionId);
    assert.equal(rest.tokensTotal, first.run.usage.total + second.run.usage.total);
    assert.ok(rest.tokensTotal > 0 && rest.tokensTotal < whole.tokensTotal);
    assert.equal((await engine.transfer.import(alice, each(lines))).turnsImported, 1);
    const again = await engine.sessions.get(alice, sessionId);
    assert.deepEqual([again.tokensTotal, again.costUsd], [whole.tokensTotal, whole.costUsd]);
  }
});

test("[T6] a fork brings the lineage above it, and nothing that is beside it", async (t) => {
  const here = await testEngine(t);
  const first = await here.ask("one");
  const second = await here.ask("two", { sessionId: first.sessionId });
  await here.ask("three", { sessionId: first.sessionId });
  const fork = await here.ask("another three", { fork: { turnId: second.id } });
  const deeper = await here.ask("deeper", { fork: { turnId: fork.id } });
  const there = await testEngine(t);
  const report = await there.engine.transfer.import(bob, each(await exported(here, { sessionId: deeper.sessionId })));
  assert.equal(report.turnsImported, 4);
  const sessions = await Promise.all(
    [first, fork, deeper].map((turn) => there.engine.sessions.get(bob, turn.sessionId)),
  );
  assert.deepEqual(
    sessions.map((session) => [session.headTurnId, session.originTurnId, session.lastSequence]),
    [
      [second.id, null, 2],
      [fork.id, second.id, 1],
      [deeper.id, fork.id, 1],
    ],
  );
  const reader = await there.engine.turns.read(bob, deeper.id);
  assert.equal(Buffer.from(await reader.request(1)).toString(), here.provider.exchanges.at(-1)?.request.body);

  // What was left out comes later, and the session has it as if it had always been whole.
  await there.engine.transfer.import(bob, each(await exported(here, { sessionId: first.sessionId })));
  const whole = await here.engine.sessions.get(alice, first.sessionId);
  const { orgId, userId } = bob;
  assert.deepEqual(await there.engine.sessions.get(bob, first.sessionId), { ...whole, orgId, userId });
});

test("[T6] a fork without a turn of its own goes on where it was forked, in the other place too", async (t) => {
  const here = await testEngine(t);
  const first = await here.ask("one");
  const session = await here.engine.sessions.create(alice, { forkOf: first.id });
  const there = await testEngine(t);
  await there.engine.transfer.import(bob, each(await exported(here, { sessionId: session.id })));
  const next = await (await there.engine.turns.run(bob, { instruction: "two", sessionId: session.id })).finished;
  assert.equal(next.parentId, first.id);
});

test("[T6] the branch of a turn is its lineage, also of a failed one", async (t) => {
  const here = await testEngine(t, { script });
  const [first = assert.fail(), waiting = assert.fail(), , failed = assert.fail(), again] = await conversation(here);
  const there = await testEngine(t);
  const report = await there.engine.transfer.import(bob, each(await exported(here, { turnId: waiting.id })));
  assert.equal(report.turnsImported, 2);
  assert.equal((await there.engine.sessions.get(bob, first.sessionId)).headTurnId, waiting.id);
  const other = await testEngine(t);
  await other.engine.transfer.import(bob, each(await exported(here, { turnId: failed.id })));
  const session = await other.engine.sessions.get(bob, first.sessionId);
  assert.deepEqual([session.headTurnId, session.lastTurnStatus], [failed.parentId, "failed"]);
  assert.equal(await other.deps.records.turns.get(again?.id ?? ""), null);
});

test("[H4] of a session that one may no longer see a fork takes its turns and not what its owner says of it", async (t) => {
  const here = await testEngine(t);
  const first = await here.ask("one", { session: { name: "Secret plans", labels: ["x"], metadata: { a: 1 } } });
  await here.engine.sessions.update(alice, first.sessionId, { isPublic: true });
  const carol = { ...alice, userId: newId(), role: "member" as const };
  const fork = await (await here.engine.turns.run(carol, { instruction: "two", fork: { turnId: first.id } })).finished;
  const lines = async (): Promise<string> => (await exported(here, { sessionId: fork.sessionId }, carol)).join("\n");
  assert.ok((await lines()).includes("Secret plans"));
  await here.engine.sessions.update(alice, first.sessionId, { isPublic: false });
  assert.ok(!/Secret plans|metadata":\{"a"/.test(await lines()));
  await assert.rejects(exported(here, { sessionId: first.sessionId }, carol), hasCode("not_found"));
  await assert.rejects(exported(here, { turnId: first.id }, carol), hasCode("not_found"));
  assert.equal((await here.engine.transfer.import(carol, each((await lines()).split("\n")))).turnsKnown, 2);
});

test("[H4] a field of a session that the export does not list does not leave, in a whole session and in a fork of it", async (t) => {
  const records = memoryRecords();
  const { sessions } = records;
  const noted = {
    ...sessions,
    get: async (id: string) => {
      const session = await sessions.get(id);
      return session === null ? null : { ...session, ownersNote: "only mine" };
    },
  };
  const here = await testEngine(t, { records: { ...records, sessions: noted } });
  const first = await here.ask("one");
  await here.engine.sessions.update(alice, first.sessionId, { isPublic: true });
  const carol = { ...alice, userId: newId(), role: "member" as const };
  const fork = await (await here.engine.turns.run(carol, { instruction: "two", fork: { turnId: first.id } })).finished;
  assert.ok("ownersNote" in (await here.engine.sessions.get(alice, first.sessionId)));
  const seen = await exported(here, { sessionId: fork.sessionId }, carol);
  await here.engine.sessions.update(alice, first.sessionId, { isPublic: false });
  const nameless = await exported(here, { sessionId: fork.sessionId }, carol);
  for (const line of [...seen, ...nameless]) assert.ok(!line.includes("ownersNote"), line);
});

test("[R1] [E8] runners, leases, keys of requests and owners are in no export; a running turn is left out", async (t) => {
  const never = new Promise<void>(() => {});
  const here = await testEngine(t, { script: (_call, n) => (n === 1 ? "one" : [{ waits: never }]) });
  const first = await here.ask("one", { idempotencyKey: "key-of-a-request" });
  const running = await here.start("two", { sessionId: first.sessionId });
  const text = (await exported(here, { sessionId: first.sessionId })).join("\n");
  for (const secret of ["key-of-a-request", here.deps.runner.id, "lease", "runnerId", running.turnId, alice.orgId]) {
    assert.ok(!text.includes(secret), secret);
  }
  await assert.rejects(exported(here, { turnId: running.turnId }), hasCode("turn_not_finished"));
});

test("[B3] [D2] an export that cannot be whole is refused by the name of what is missing or changed", async (t) => {
  const here = await testEngine(t);
  const first = await here.ask("one");
  const second = await here.ask("two", { sessionId: first.sessionId });
  const scope = { sessionId: first.sessionId };
  const key = first.blobs.run ?? "";
  const whole = (await here.deps.blobs.get(key)) ?? assert.fail();
  await replaceBlob(here.deps.blobs, key, Buffer.from(Buffer.from(whole).toString().replace("answer 1", "answer 7")));
  await assert.rejects(exported(here, scope), hasCode("blob_damaged", new RegExp(first.id)));
  await here.deps.blobs.delete(key);
  await assert.rejects(exported(here, { turnId: second.id }), hasCode("blob_missing", new RegExp(key)));
});

test("[T2] a turn that was put away is exported as it is, and still has its digest", async (t) => {
  const here = await testEngine(t);
  const first = await here.ask("one");
  const second = await here.ask("two", { sessionId: first.sessionId });
  const session = await here.engine.sessions.get(alice, first.sessionId);
  const records = memoryRecords();
  const turns = [first, archiveTurn(second, second.statusAt + hour)];
  await records.imports.insert({
    sessions: [{ ...session, headTurnId: first.id }],
    growths: [],
    parents: [],
    turns: (async function* () {
      for (const turn of turns) {
        yield { turn, steps: await here.deps.records.turns.listSteps(turn.id), text: { instruction: "", answer: "" } };
      }
    })(),
  });
  const away = await testEngine(t, { records, blobs: here.deps.blobs });
  assert.deepEqual(await away.engine.explain.verify(alice, session.id), {
    sessionId: session.id,
    turnsChecked: 2,
    turnsUnsealed: 0,
    fault: null,
  });
  const there = await testEngine(t);
  const lines = await exported(away, { sessionId: session.id });
  assert.equal((await there.engine.transfer.import(bob, each(lines))).turnsImported, 2);
  assert.deepEqual(await there.engine.turns.get(bob, second.id), turns[1]);
  // Where it was not put away it is the same turn, so nothing changes.
  assert.equal((await here.engine.transfer.import(alice, each(lines))).turnsKnown, 2);
  assert.deepEqual(await here.engine.turns.get(alice, second.id), second);
});

test("[C6] [D3] a session whose history was summarised goes through, and its requests read back", async (t) => {
  const says = (call: ModelCall, n: number): string =>
    call.prompt?.startsWith("You condense") === true ? `summary ${n}` : `answer ${n} ${"word ".repeat(60)}`;
  const options = { script: says, contextTokens: () => 800 };
  const here = await testEngine(t, options);
  const first = await here.ask("one");
  const turns = [first];
  for (let n = 2; n <= 10; n += 1) turns.push(await here.ask(`question ${n}`, { sessionId: first.sessionId }));
  assert.ok(turns.some(({ warnings }) => warnings.some(({ code }) => code === "history_compacted")));
  const there = await testEngine(t, options);
  await there.engine.transfer.import(bob, each(await exported(here, { sessionId: first.sessionId })));
  assert.equal((await there.engine.explain.verify(bob, first.sessionId)).fault, null);
  const bodies: string[] = [];
  for (const { id } of turns) {
    const reader = await there.engine.turns.read(bob, id);
    for (const { index } of await reader.steps()) bodies.push(Buffer.from(await reader.request(index)).toString());
  }
  assert.deepEqual(
    bodies,
    here.provider.exchanges.map((exchange) => exchange.request.body),
  );
});

test("[D2] [S3] an export with the wait null, as earlier builds stored one without end, is imported with its digests as they are", async (t) => {
  const here = await testEngine(t, { script });
  const there = await testEngine(t, { script });
  const { sessionId } = await here.ask("one");
  await here.ask("fail", { sessionId });
  const next = await here.ask("three", { sessionId });
  const file = new ForgedFile(await exported(here, { sessionId }));
  const endless = (value: unknown): object => Object.assign(value as object, { retryAfterSeconds: null });
  const [row, [step]] = [file.row(1), file.steps(1)];
  assert.ok(row.status === "failed" && step?.outcome.status === "failed");
  endless(row.failures[0]);
  endless(step.outcome.failure);
  const lines = file.sealed();
  const report = await there.engine.transfer.import(alice, each(lines));
  assert.deepEqual([report.turnsImported, (await there.engine.explain.verify(alice, sessionId)).fault], [3, null]);
  const failed = await there.engine.turns.get(alice, row.id);
  assert.deepEqual(failed, row);
  const again = await there.engine.transfer.import(alice, each(await exported(there, { sessionId })));
  assert.deepEqual([again.turnsImported, again.turnsKnown], [0, 3]);
  assert.equal((await there.engine.turns.get(alice, next.id)).id, next.id);
});

test("blobs of any size go through, in lines that can be taken", async (t) => {
  const answer = "0123456789abcdef".repeat(500_000);
  const here = await testEngine(t, { script: () => answer });
  const turn = await here.ask("much");
  const lines = await exported(here, { sessionId: turn.sessionId });
  assert.ok(lines.some((line) => line.startsWith('{"kind":"part"')));
  assert.ok(Math.max(...lines.map((line) => line.length)) < limits.importLineBytesMax / 2);
  const there = await testEngine(t);
  await there.engine.transfer.import(bob, each(lines));
  assert.deepEqual(await blobsOf(there.deps.blobs), await blobsOf(here.deps.blobs));
});

test("[B1] a process that dies between any two writes of an import leaves only garbage, and importing again completes it", async (t) => {
  const here = await testEngine(t, { script });
  const [first = assert.fail()] = await conversation(here);
  const lines = await exported(here, { sessionId: first.sessionId });
  const expected = await blobsOf(here.deps.blobs);
  for (let writes = 0; ; writes += 1) {
    const blobs = memoryBlobs();
    let left = writes;
    const dying: BlobStore = {
      ...blobs,
      put: async (key, bytes) => {
        if (left === 0) throw new AptoveError("storage_failed", "the process is gone");
        left -= 1;
        await blobs.put(key, bytes);
      },
      size: (key) => blobs.size(key),
      // No process is left to clean up.
      delete: async () => {},
    };
    const records = memoryRecords();
    const there = await testEngine(t, { records, blobs: dying });
    const isWhole = await there.engine.transfer.import(bob, each(lines)).then(
      () => true,
      () => false,
    );
    if (isWhole) break;
    assert.deepEqual((await there.engine.sessions.list(bob, {})).sessions, []);
    const later = { records, blobs, runner: testRunner(), now: () => Date.now() + 2 * hour };
    const tidy = await testEngine(t, later);
    const admin = { ...bob, orgId: localOrgId, role: "admin" as const };
    const garbage = await tidy.engine.tree.collectGarbage(admin, { dryRun: true });
    const written = (await blobs.list("")).filter((key) => !key.startsWith("prompts/"));
    assert.deepEqual(garbage.keys, written.toSorted());
    await tidy.engine.transfer.import(bob, each(lines));
    const kept = await blobsOf(blobs);
    for (const key of kept.keys()) if (key.startsWith("imports/")) kept.delete(key);
    assert.deepEqual(kept, expected);
    assert.equal((await tidy.engine.explain.verify(bob, first.sessionId)).turnsChecked, 5);
  }
});

test("[K4] while an import writes, its blobs are not taken for garbage, however old its turns are", async (t) => {
  const here = await testEngine(t);
  const turn = await here.ask("one");
  const old = "01000000-0000-7000-8000-000000000000";
  const file = new ForgedFile(await exported(here, { sessionId: turn.sessionId }));
  file.rename(turn.id, old);
  const records = memoryRecords();
  const there = await testEngine(t, { records });
  const admin = { ...bob, orgId: localOrgId, role: "admin" as const };
  const collect = async (): Promise<string[]> =>
    (await there.engine.tree.collectGarbage(admin, { dryRun: false })).keys;
  const { insert: insertImported } = records.imports;
  records.imports.insert = async (imported) => {
    assert.equal((await there.deps.blobs.list(`turns/${old}/`)).length, 3);
    assert.deepEqual(await collect(), []);
    return await insertImported(imported);
  };
  await there.engine.transfer.import(bob, each(file.sealed()));
  assert.equal((await there.engine.explain.verify(bob, old)).fault, null);
  assert.deepEqual(await there.deps.blobs.list("imports/"), []);

  // The mark of a process that was killed an hour ago says nothing any more, and goes itself.
  const dead = "imports/01000000-0000-7000-8000-00000000000d";
  await there.deps.blobs.put(dead, Buffer.from("{}"));
  assert.deepEqual(await collect(), [dead]);
});

test("[S4] a session that was made before its first turn moves like any other", async (t) => {
  const home = await testEngine(t);
  const { id } = await home.engine.sessions.create(alice, {});
  const turn = await home.ask("one", { sessionId: id });
  const lines = await exported(home, { sessionId: id });
  const away = await testEngine(t);
  assert.equal((await away.engine.transfer.import(alice, each(lines))).turnsImported, 1);
  assert.deepEqual(await away.engine.turns.get(alice, turn.id), turn);
});
