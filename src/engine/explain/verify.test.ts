import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { alice, testEngine, testRunner, type TestEngine } from "../../../testing/engine.ts";
import { hasCode } from "../../../testing/refusals.ts";
import { temporaryFolder } from "../../../testing/temporary-folder.ts";
import { replaceBlob } from "../../../testing/replace-blob.ts";
import { compressedBlobs } from "../../blobs/compressed-blobs.ts";
import { fileBlobs } from "../../blobs/files/file-blobs.ts";
import { AptoveError } from "../../domain/errors.ts";
import { newId } from "../../domain/ids.ts";
import type { FinishedTurn } from "../../domain/turn.ts";
import { memoryRecords } from "../../records/memory/memory-records.ts";
import { openSqliteRecords } from "../../records/sql/sqlite/sqlite.ts";

const script = (call: { items: readonly unknown[] }, n: number) => {
  const asked = JSON.stringify(call.items.at(-1));
  if (asked.includes("fail")) return [{ fails: "provider_rejected" as const }];
  if (asked.includes("look")) return [{ says: "let me see" }, { calls: "look", with: { at: n } }];
  return `answer ${n}`;
};

const look = {
  definition: { name: "look", parameters: { type: "object" } },
  needsApproval: () => false,
  run: async () => ({ output: "seen", isError: false }),
};

/** Six turns: a plain one, one of two model calls, a failed one, a rerun, and a fork with two. */
async function tree({ ask }: Pick<TestEngine, "ask">) {
  const first = await ask("one");
  const { sessionId } = first;
  const tools = await ask("look", { sessionId });
  const failed = await ask("fail", { sessionId });
  const again = await ask("two", { rerun: { turnId: tools.id } });
  const fork = await ask("three", { fork: { turnId: tools.id } });
  const last = await ask("four", { sessionId: fork.sessionId });
  return { first, tools, failed, again, fork, last, sessionId };
}

test("[D2] an untouched session holds, on every store, and a fork with all that is above it", async (t) => {
  for (const open of [
    memoryRecords,
    async () => openSqliteRecords({ file: join(await temporaryFolder(t), "records.db") }),
  ]) {
    for (const history of ["chain", "replay"] as const) {
      const records = await open();
      const { ask, engine } = await testEngine(t, { script, records, tools: [look], conversation: { history } });
      const { sessionId, fork } = await tree({ ask });
      const seen: number[][] = [];
      const report = await engine.explain.verify(alice, sessionId, (done, total) => seen.push([done, total]));
      assert.deepEqual(report, { sessionId, turnsChecked: 4, turnsUnsealed: 0, fault: null });
      assert.deepEqual(
        seen,
        [1, 2, 3, 4].map((done) => [done, 4]),
      );
      const ofFork = await engine.explain.verify(alice, fork.sessionId);
      assert.deepEqual([ofFork.turnsChecked, ofFork.fault], [4, null]);
    }
  }
});

test("[D2] [B3] every blob that is missing or changed is a fault of its turn, by name, and of no other", async (t) => {
  const { ask, deps, engine } = await testEngine(t, { script, tools: [look] });
  const { sessionId, first, tools, failed, again } = await tree({ ask });
  for (const turn of [first, tools, failed, again]) {
    const keys = await deps.records.purges.blobKeysOf(turn.id);
    assert.equal(keys.length, turn === tools ? 4 : turn === failed ? 2 : 3);
    for (const key of keys) {
      const whole = Buffer.from((await deps.blobs.get(key)) ?? assert.fail(key));
      const flipped = Buffer.from(whole);
      flipped[whole.length >> 1] = (flipped[whole.length >> 1] ?? 0) ^ 1;
      for (const bytes of [flipped, whole.subarray(0, -1), Buffer.from("{}"), Buffer.alloc(0), null]) {
        if (bytes === null) await deps.blobs.delete(key);
        else await replaceBlob(deps.blobs, key, bytes);
        const { fault } = await engine.explain.verify(alice, sessionId);
        assert.equal(fault?.turnId, turn.id, `${key}: ${fault?.reason}`);
        assert.equal(fault.sequence, turn.sequence);
        assert.ok(fault.reason.includes(key), fault.reason);
      }
      await replaceBlob(deps.blobs, key, whole);
    }
  }
  assert.equal((await engine.explain.verify(alice, sessionId)).fault, null);
});

test("[D2] a flipped byte in a file on the disk is found, whichever byte it is", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "aptove-verify-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const { ask, engine } = await testEngine(t, { blobs: compressedBlobs(fileBlobs({ folder })) });
  const turn = await ask("one");
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".zst"));
  assert.equal(files.length, 4);
  for (const name of files) {
    const file = join(folder, name);
    const whole = readFileSync(file);
    for (let at = 0; at < whole.length; at += 17) {
      const flipped = Buffer.from(whole);
      flipped[at] = (flipped[at] ?? 0) ^ 4;
      writeFileSync(file, flipped);
      const { fault } = await engine.explain.verify(alice, turn.sessionId);
      assert.equal(fault?.turnId, turn.id, `${name}, byte ${at}`);
    }
    writeFileSync(file, whole);
  }
});

test("[D2] a row that was changed is found, and is the first fault although those after it break too", async (t) => {
  const changes: ((turn: FinishedTurn) => object)[] = [
    () => ({ answerSummary: "no" }),
    () => ({ createdBy: newId() }),
    () => ({ digest: "0".repeat(64) }),
    () => ({ digest: null }),
    (turn) => ({ manifest: { ...turn.manifest, promptHash: "other" } }),
    (turn) => ({ run: { ...turn.run, usage: { ...turn.run.usage, output: 0 } } }),
  ];
  for (const change of changes) {
    const records = memoryRecords();
    const { ask, engine } = await testEngine(t, { script, records, tools: [look] });
    const { tools, sessionId, fork } = await tree({ ask });
    const { list: listTurns } = records.turns;
    records.turns.list = async (...args) =>
      (await listTurns(...args)).map((turn) => (turn.id === tools.id ? Object.assign(turn, change(tools)) : turn));
    for (const id of [sessionId, fork.sessionId]) {
      const { fault, turnsChecked } = await engine.explain.verify(alice, id);
      assert.deepEqual([fault?.turnId, turnsChecked], [tools.id, 2], JSON.stringify(change(tools)));
    }
  }
});

test("[D2] steps that were changed, added or lost are found", async (t) => {
  const records = memoryRecords();
  const { ask, engine } = await testEngine(t, { script, records, tools: [look] });
  const { tools, sessionId } = await tree({ ask });
  const { listSteps } = records.turns;
  const faulty = async (change: (steps: Awaited<ReturnType<typeof listSteps>>) => void) => {
    records.turns.listSteps = async (id) => {
      const steps = await listSteps(id);
      if (id === tools.id) change(steps);
      return steps;
    };
    return (await engine.explain.verify(alice, sessionId)).fault?.turnId;
  };
  assert.equal(await faulty(() => {}), undefined);
  assert.equal(await faulty((steps) => void steps.pop()), tools.id);
  assert.equal(await faulty((steps) => Object.assign(steps[0] ?? {}, { responseId: "other" })), tools.id);
  assert.equal(await faulty((steps) => Object.assign(steps[1]?.request ?? {}, { sha256: "0".repeat(64) })), tools.id);
});

test("[D2] a parent that is gone is a fault of the turn below it", async (t) => {
  const records = memoryRecords();
  const { ask, engine } = await testEngine(t, { script, records, tools: [look] });
  const { first, tools, fork } = await tree({ ask });
  const { list: listTurns } = records.turns;
  const { get: getTurn } = records.turns;
  records.turns.list = async (...args) => (await listTurns(...args)).filter((turn) => turn.id !== first.id);
  records.turns.get = async (id) => (id === first.id ? null : await getTurn(id));
  const { fault } = await engine.explain.verify(alice, fork.sessionId);
  assert.deepEqual([fault?.turnId, fault?.reason], [tools.id, `its parent ${first.id} is not stored`]);
});

test("[D2] turns that could not be sealed are counted, running turns are skipped, and a caller who may not see the session learns nothing", async (t) => {
  const dead = new Set<string>();
  const never = new Promise<void>(() => {});
  const first = await testEngine(t, {
    script: (_call, n) => (n === 2 ? [{ says: ["half", never] }] : "whole"),
    isAlive: (runner) => !dead.has(runner.id),
  });
  const one = await first.ask("one");
  const cut = await first.start("two", { sessionId: one.sessionId });
  assert.deepEqual(await first.engine.explain.verify(alice, one.sessionId), {
    sessionId: one.sessionId,
    turnsChecked: 1,
    turnsUnsealed: 0,
    fault: null,
  });
  dead.add(first.deps.runner.id);
  const { engine } = await testEngine(t, { ...first.deps, runner: testRunner() });
  assert.equal((await engine.turns.get(alice, cut.turnId)).status, "failed");
  const report = await engine.explain.verify(alice, one.sessionId);
  assert.deepEqual([report.turnsChecked, report.turnsUnsealed, report.fault], [2, 0, null]);
  const { put } = first.deps.blobs;
  first.deps.blobs.put = async (key, bytes) => {
    if (key.endsWith("/run.json")) throw new AptoveError("storage_full", "no room");
    await put.call(first.deps.blobs, key, bytes);
  };
  const next = await testEngine(t, { ...first.deps, runner: testRunner() });
  assert.equal((await next.ask("three", { sessionId: one.sessionId })).digest, null);
  const later = await engine.explain.verify(alice, one.sessionId);
  assert.deepEqual([later.turnsChecked, later.turnsUnsealed, later.fault], [2, 1, null]);
  const stranger = { ...alice, userId: newId() };
  await assert.rejects(engine.explain.verify(stranger, one.sessionId), hasCode("not_found"));
});
