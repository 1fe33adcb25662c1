/** Budgets over HTTP (F11), beyond what the access matrix asks. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { testDoor } from "../../../../testing/http-door.ts";

/** Every call returns a later time, so that the list has the order in which the budgets were made. */
function ticking(): { now: () => number } {
  let now = 1_800_000_000_000;
  return { now: () => (now += 1) };
}

test("[F11] [H4] who sees which budgets, and who may change them", async (t) => {
  const door = await testDoor(t, ticking());
  const { people, keys, budgets } = door.client();
  const user = await people.add({ name: "Grace", email: "grace@example.org" });
  const { key, secret } = await keys.create({ name: "hers", userId: user.id });
  const grace = door.client({ key: secret });
  const { sessionId } = await grace.execute({ instruction: "hello" });
  const tokens = { unit: "tokens", limit: 1e9 } as const;
  await budgets.set({ scope: "person", ...tokens });
  await budgets.set({ scope: "person", targetId: user.id, ...tokens });
  await budgets.set({ scope: "key", targetId: key.id, ...tokens });
  await budgets.set({ scope: "org", ...tokens });
  const own = await grace.budgets.set({ scope: "session", targetId: sessionId, ...tokens });
  const scopes = async (by: typeof grace): Promise<string[]> =>
    (await by.budgets.list()).map(({ scope }) => scope).toSorted();
  assert.deepEqual(await scopes(grace), ["key", "org", "person", "session"]);
  assert.deepEqual(await scopes(door.client()), ["key", "org", "person", "person"], "a private session stays private");

  for (const scope of ["person", "key", "org"] as const)
    await assert.rejects(grace.budgets.set({ scope, ...tokens }), { code: "forbidden" });
  await assert.rejects(budgets.remove(own.id), { code: "not_found" });
  await grace.execute({ instruction: "more", sessionId });
  const counted = await grace.budgets.list();
  assert.ok(counted.every(({ spent, reserved }) => spent > 0 && spent === counted[0]?.spent && reserved === 0));
  await grace.budgets.remove(own.id);
  assert.deepEqual(await scopes(grace), ["key", "org", "person"]);
  const audited = (await door.client().audit({ action: "budget.set" })).entries.map(({ outcome }) => outcome);
  assert.deepEqual(audited.toReversed(), [...Array(5).fill("done"), ...Array(3).fill("forbidden")]);
});

test("[F11] [H4] the audit log has the amount of a budget that was set, in its unit", async (t) => {
  const client = (await testDoor(t, ticking())).client();
  await client.budgets.set({ scope: "person", limit: 12.5, period: "day" });
  await client.budgets.set({ scope: "org", limit: 900, unit: "tokens", onLimit: "wait" });
  const { entries } = await client.audit({ action: "budget.set" });
  assert.deepEqual(
    entries.map(({ facts }) => facts),
    [
      { scope: "org", period: "total", unit: "tokens", limit: 900, onLimit: "wait" },
      { scope: "person", period: "day", unit: "usd", limit: 12.5, onLimit: "fail" },
    ],
  );
});

test("[F11] a budget that does not make sense is refused", async (t) => {
  const { refused } = await testDoor(t);
  const put = async (json: object): Promise<unknown> => await refused("request_invalid", "PUT /api/budgets", { json });
  await put({ scope: "person" });
  await put({ scope: "person", limit: -1 });
  await put({ scope: "galaxy", limit: 1 });
  await put({ scope: "session", limit: 1 });
  await put({ scope: "person", limit: 1_000_001 });
  await put({ scope: "person", limit: 5, unit: "tokens", unknownUsdPerMillion: 1 });
  await refused("not_found", "PUT /api/budgets", { json: { scope: "session", targetId: "none", limit: 1 } });
});

test("[F11] a turn that waits for its budget goes on with an approval", async (t) => {
  const { client } = await testDoor(t);
  await client().budgets.set({ scope: "org", unit: "tokens", limit: 0, onLimit: "wait" });
  const parked = await client().execute({ instruction: "hello" });
  const [call] = parked.toolCalls;
  assert.ok(call !== undefined);
  assert.partialDeepStrictEqual(call, { name: "pass_budget", waitsFor: "approval" });
  assert.equal(call.budgetIds?.length, 1);
  assert.deepEqual(
    (await client().approvals()).approvals.map(({ callId, budgetIds }) => [callId, budgetIds]),
    [[call.callId, call.budgetIds]],
  );
  const { sessionId } = parked;
  const done = await client().execute({ sessionId, toolResults: [{ callId: call.callId, approved: true }] });
  assert.equal(done.kind, "answer");
  assert.deepEqual(done.toolCalls, []);
  assert.ok(((await client().budgets.list())[0]?.spent ?? 0) > 0);
});
