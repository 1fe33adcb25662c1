/** What a server finds about itself for those who run it (L1, U10). */
import assert from "node:assert/strict";
import { test } from "node:test";
import { alice, all, testEngine } from "../../../testing/engine.ts";
import { AptoveError } from "../../domain/errors.ts";
import { fixes } from "../../domain/fixes.ts";
import { newId } from "../../domain/ids.ts";
import type { Inspection } from "../dependencies.ts";

const fine: Inspection = { name: "records", look: async () => ({ state: "ok", detail: "SQLite" }) };

test("[L1] [U10] each check begins at once and arrives when it is done; a failed one has its reason and its fix", async (t) => {
  const answer = Promise.withResolvers<void>();
  const slow: Inspection = {
    name: "slow",
    look: async () => (await answer.promise, { state: "note", detail: "late" }),
  };
  const broken: Inspection = {
    name: "blobs",
    look: () => Promise.reject(new AptoveError("storage_failed", "the bucket does not answer")),
  };
  const { engine } = await testEngine(t, { inspections: async () => [slow, fine, broken] });
  const checks = engine.inspect(alice)[Symbol.asyncIterator]();
  const next = async () => (await checks.next()).value;
  for (const name of ["slow", "records", "blobs", "turns"])
    assert.deepEqual(await next(), { name, state: "running", detail: "" });
  const found = [await next(), await next(), await next()];
  assert.deepEqual(
    found.toSorted((a, b) => (String(a?.name) < String(b?.name) ? -1 : 1)),
    [
      { name: "blobs", state: "failed", detail: "the bucket does not answer", fix: fixes.storage_failed },
      { name: "records", state: "ok", detail: "SQLite" },
      { name: "turns", state: "ok", detail: "0 running on this server" },
    ],
  );
  answer.resolve();
  assert.deepEqual(await next(), { name: "slow", state: "note", detail: "late" });
  assert.equal((await checks.next()).done, true);
});

test("[L1] [U10] a part that does not answer is named after the deadline, and the next call asks it no second time", async (t) => {
  let asked = 0;
  const dead: Inspection = {
    name: "blobs",
    ifLate: "check the bucket",
    look: () => ((asked += 1), new Promise(() => undefined)),
  };
  const deadline = (): AbortSignal => AbortSignal.abort(new Error("over"));
  const { engine } = await testEngine(t, { inspections: async () => [dead, fine], deadline });
  for (let n = 0; n < 2; n += 1) {
    const found = await all(engine.inspect(alice));
    assert.deepEqual(
      found.filter(({ name, state }) => name === "blobs" && state !== "running"),
      [{ name: "blobs", state: "failed", detail: "did not answer within 10 s", fix: "check the bucket" }],
    );
  }
  assert.equal(asked, 1);
});

test("[L1] [U10] if the checks cannot be opened, the call fails, and the next one opens them again", async (t) => {
  let tries = 0;
  const inspections = async (): Promise<Inspection[]> => {
    tries += 1;
    if (tries === 1) throw new AptoveError("storage_failed", "the folder is away");
    return [fine];
  };
  const { engine } = await testEngine(t, { inspections });
  await assert.rejects(all(engine.inspect(alice)), { code: "storage_failed" });
  for (let n = 0; n < 2; n += 1) {
    const found = await all(engine.inspect(alice));
    assert.ok(found.some(({ name, state }) => name === "records" && state === "ok"));
  }
  assert.equal(tries, 2);
});

test("[L1] [H4] only who runs the server may inspect it", async (t) => {
  const { engine } = await testEngine(t, { inspections: async () => assert.fail("nothing is looked at") });
  for (const caller of [
    { ...alice, role: "member" as const },
    { ...alice, deviceId: "x" },
    { ...alice, orgId: newId() },
  ])
    await assert.rejects(all(engine.inspect(caller)), { code: "forbidden" });
});
