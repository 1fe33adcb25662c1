/** Orgs, people, keys, sharing and the audit log over HTTP (H4, S7), beyond what the access matrix asks. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { WireAuditEntry, WireShared } from "../../../protocol/people.ts";
import { newId } from "../../../domain/ids.ts";
import { limits } from "../../../domain/limits.ts";
import { testDoor, type Person, type TestDoor } from "../../../../testing/http-door.ts";

async function json<T>(response: Promise<Response>): Promise<T> {
  return (await (await response).json()) as T;
}

/** Every call returns a later time, so that the log has the order of the actions. */
function ticking(): { now: () => number } {
  let now = 1_800_000_000_000;
  return { now: () => (now += 1) };
}

/** Returns the actions with their outcomes, newest first. */
async function actions(door: TestDoor, query = ""): Promise<string[]> {
  const { entries } = await json<{ entries: WireAuditEntry[] }>(door.call(`GET /api/audit${query}`));
  return entries.map(({ action, outcome }) => `${action} ${outcome}`);
}

test("[H4] an admin adds a user, creates their key, changes their role, disables and enables them", async (t) => {
  const door = await testDoor(t, ticking());
  const { people, keys } = door.client();
  const user = await people.add({ name: "Grace", email: "Grace@Example.org" });
  assert.partialDeepStrictEqual(user, { name: "Grace", email: "grace@example.org", role: "member", disabledAt: null });
  await assert.rejects(people.add({ name: "other", email: "GRACE@example.org" }), { code: "user_exists" });
  const { secret } = await keys.create({ name: "hers", userId: user.id });
  const grace = door.client({ key: secret });
  assert.partialDeepStrictEqual(await grace.me(), { userId: user.id, name: "Grace", role: "member", deviceId: null });
  assert.deepEqual(
    (await grace.keys.list()).keys.map(({ userId }) => userId),
    [user.id],
  );
  // Only admins see the addresses of others.
  assert.deepEqual(
    (await grace.people.list()).users.map(({ email }) => email),
    [null, "grace@example.org"],
  );
  await people.change(user.id, { role: "reader" });
  await assert.rejects(grace.sessions.create({}), { code: "forbidden" });
  await people.change(user.id, { disabled: true });
  await assert.rejects(grace.me(), { code: "unauthenticated" });
  await assert.rejects(keys.create({ name: "x", userId: user.id }), { code: "request_invalid", detail: /user enable/ });
  await people.change(user.id, { disabled: false });
  assert.equal((await grace.me()).role, "reader");
  assert.deepEqual(await actions(door), [
    "user.enable done",
    "key.create request_invalid",
    "user.disable done",
    "user.role done",
    "key.create done",
    "user.create user_exists",
    "user.create done",
  ]);
});

test("[H4] the last admin of an org stays one", async (t) => {
  const door = await testDoor(t);
  const { people } = door.client();
  const { userId } = door.admin;
  await assert.rejects(people.change(userId, { role: "member" }), { code: "last_admin", detail: /user role/ });
  await assert.rejects(people.change(userId, { disabled: true }), { code: "last_admin" });
  await door.person("admin");
  assert.equal((await people.change(userId, { role: "member" })).role, "member");
});

test("[H4] [R5] a stream ends at once when its key's user is disabled or has another role, their org suspended, or the key has expired", async (t) => {
  let late = 0;
  const answering = Promise.withResolvers<void>();
  const script = () => [{ says: ["half ", answering.promise, "whole"] }];
  const door = await testDoor(t, { script, now: () => Date.now() + late });
  const person = await door.person("member");
  const { turnId, finished } = await door.engine.turns.run(person, { instruction: "x" });
  const short = await door.engine.keys.create(person, { name: "short", expiresAt: Date.now() + 60_000 });
  const stream = async (as: Person) => {
    const response = await door.call(`GET /api/turns/${turnId}/events`, { as });
    const reader = (response.body ?? assert.fail("there is no stream")).getReader();
    await reader.read();
    return async (): Promise<void> => {
      while (!(await reader.read()).done);
    };
  };
  const expires = await stream({ ...person, key: short.secret });
  const suspended = await stream(person);
  late = 120_000;
  await expires();
  await door.engine.operator.suspendOrg(person.orgId, true);
  await suspended();
  await door.engine.operator.suspendOrg(person.orgId, false);
  const demoted = await stream(person);
  await door.client().people.change(person.userId, { role: "reader" });
  await demoted();
  const disabled = await stream(person);
  await door.client().people.change(person.userId, { disabled: true });
  await disabled();
  await door.refused("unauthenticated", `GET /api/turns/${turnId}/events`, { as: person });
  answering.resolve();
  assert.equal((await finished).status, "completed");
  assert.ok(limits.keyPollMs <= 500);
});

test("[S7] an owner shares with the org and invites; an invited user continues it, a dismissed one cannot see it", async (t) => {
  const door = await testDoor(t, ticking());
  const [owner, friend, colleague] = [
    await door.person("member"),
    await door.person("member"),
    await door.person("member"),
  ];
  const { sessionId } = await (await door.engine.turns.run(owner, { instruction: "hello" })).finished;
  const at = `/api/sessions/${sessionId}/sharing`;
  const change = (body: object) => json<WireShared>(door.call(`POST ${at}`, { as: owner, json: body }));
  const shared = await change({ isPublic: true, invite: [friend.userId] });
  assert.equal(shared.session.isPublic, true);
  assert.deepEqual(
    shared.participants.map(({ userId }) => userId).toSorted(),
    [owner.userId, friend.userId].toSorted(),
  );
  assert.deepEqual(await json(door.call(`GET ${at}`, { as: colleague })), shared);
  const go = { json: { instruction: "on", sessionId } };
  await door.call("POST /api/ai/agent/execute", { ...go, as: friend });
  assert.match(
    (await door.refused("forbidden", "POST /api/ai/agent/execute", { ...go, as: colleague })).detail,
    /fork/,
  );
  await change({ isPublic: false, dismiss: [friend.userId] });
  for (const as of [friend, colleague]) await door.refused("not_found", `GET ${at}`, { as });
  await door.refused("not_found", `POST ${at}`, { as: owner, json: { invite: [newId()] } });
  const stranger = await door.person("member", newId());
  await door.refused("not_found", `POST ${at}`, { as: owner, json: { invite: [stranger.userId] } });
  assert.deepEqual(await actions(door, `?targetId=${sessionId}`), [
    "session.invite not_found",
    "session.invite not_found",
    "session.unshare done",
    "session.dismiss done",
    "session.share done",
    "session.invite done",
  ]);
});

test("[H4] [S7] who is dismissed while their turn runs gets no answer of it", async (t) => {
  const held = Promise.withResolvers<void>();
  const begun = Promise.withResolvers<void>();
  let owned = false;
  const door = await testDoor(t, {
    script: () => (owned ? (begun.resolve(), [{ says: ["a", held.promise, " b"] }]) : "ok"),
  });
  t.after(() => held.resolve());
  const [owner, friend] = [await door.person("member"), await door.person("member")];
  const { sessionId } = await (await door.engine.turns.run(owner, { instruction: "hello" })).finished;
  owned = true;
  await door.engine.sharing.change(owner, sessionId, { invite: [friend.userId] });
  const go = { as: friend, json: { instruction: "on", sessionId } };
  const refused = door.refused("not_found", "POST /api/ai/agent/execute", go);
  await begun.promise;
  await door.engine.sharing.change(owner, sessionId, { dismiss: [friend.userId] });
  held.resolve();
  const { turnId } = await refused;
  assert.equal((await door.engine.turns.get(owner, String(turnId))).status, "completed");
});

test("[P3] a device sees only its own workspace, whatever it requests, and creates nothing elsewhere", async (t) => {
  const door = await testDoor(t);
  const owner = await door.person("member");
  const elsewhere = await (await door.engine.turns.run(owner, { instruction: "hello", workspaceId: "desk" })).finished;
  const { code } = await door.engine.devices.pair(owner);
  const { token } = await door.engine.devices.claim({ code, name: "phone", deviceId: "pixel" });
  const phone = door.client({ key: token });
  assert.equal((await phone.me()).workspaceId, "device:pixel");
  const made = await phone.execute({ instruction: "hello" });
  assert.equal((await phone.sessions.get(made.sessionId)).workspaceId, "device:pixel");
  const ids = (await phone.sessions.list()).sessions.map(({ id }) => id);
  assert.deepEqual([ids, (await phone.search("hello")).length], [[made.sessionId], 1]);
  assert.deepEqual((await phone.sessions.list({ workspaceId: "desk" })).sessions, []);
  await assert.rejects(phone.sessions.get(elsewhere.sessionId), { code: "not_found" });
  for (const refused of [
    phone.sessions.create({ workspaceId: "desk" }),
    phone.execute({ instruction: "x", workspaceId: "desk" }),
  ]) {
    await assert.rejects(refused, { code: "workspace_unknown" });
  }
  const file = await new Response(await door.client({ key: owner.key }).sessions.export(elsewhere.sessionId)).text();
  await assert.rejects(phone.sessions.import(file.replaceAll(elsewhere.sessionId, newId())), {
    code: "import_invalid",
  });
  // Not even with the idempotency key of a request that its owner made elsewhere (T13).
  const again = { instruction: "hello", sessionId: elsewhere.sessionId };
  const keyed = { json: again, headers: { "idempotency-key": "k" } };
  assert.equal((await door.call("POST /api/ai/agent/execute", { ...keyed, as: owner })).status, 200);
  await door.refused("not_found", "POST /api/ai/agent/execute", { ...keyed, as: { ...owner, key: token } });
  await door.engine.tree.remove(owner, elsewhere.sessionId);
  assert.deepEqual(await phone.sessions.listRemoved(), []);
});

test("[H4] the audit log has pages, names the key and the request, and contains no content", async (t) => {
  const door = await testDoor(t, ticking());
  const secretText = "a text that occurs nowhere else";
  const { sessionId } = (await (
    await door.call("POST /api/ai/agent/execute", { json: { instruction: secretText } })
  ).json()) as { sessionId: string };
  for (let n = 0; n < 3; n++) {
    await door.call(`PATCH /api/sessions/${sessionId}`, {
      json: { isPublic: n === 1 },
      headers: { "x-request-id": `r${n}` },
    });
  }
  await door.call(`GET /api/sessions/${sessionId}/export`);
  const first = await json<{ entries: WireAuditEntry[]; nextCursor: string }>(door.call("GET /api/audit?limit=3"));
  const rest = await json<{ entries: WireAuditEntry[]; nextCursor: null }>(
    door.call(`GET /api/audit?limit=3&cursor=${first.nextCursor}`),
  );
  assert.equal(rest.nextCursor, null);
  const entries = [...first.entries, ...rest.entries];
  assert.deepEqual(
    entries.map(({ action, requestId }) => [action, requestId?.startsWith("r") === true ? requestId : null]),
    [
      ["session.export", null],
      ["session.unshare", "r2"],
      ["session.share", "r1"],
      ["session.unshare", "r0"],
    ],
  );
  const { keys } = await door.client().keys.list();
  assert.ok(entries.every(({ keyId, userId }) => keyId === keys[0]?.id && userId === door.admin.userId));
  assert.equal(JSON.stringify(entries).includes(secretText), false);
});

test("[H4] [U10] the audit log is filtered by time, and names a session only to an admin who may see it", async (t) => {
  const door = await testDoor(t, ticking());
  const member = await door.person("member");
  const run = async (as: Person): Promise<string> =>
    (await json<{ sessionId: string }>(door.call("POST /api/ai/agent/execute", { as, json: { instruction: "x" } })))
      .sessionId;
  const [own, hidden] = [await run(door.admin), await run(member)];
  await door.call(`POST /api/sessions/${own}/archive`);
  await door.call(`PATCH /api/sessions/${hidden}`, { as: member, json: { isPublic: false } });
  const all = await json<{ entries: WireAuditEntry[] }>(door.call("GET /api/audit"));
  assert.deepEqual(
    all.entries.map(({ targetId, sessionId }) => [targetId, sessionId]),
    [
      [hidden, null],
      [own, own],
    ],
  );
  const [last, first] = all.entries;
  const found = async (query: string): Promise<unknown[]> =>
    (await json<{ entries: WireAuditEntry[] }>(door.call(`GET /api/audit?${query}`))).entries.map(({ id }) => id);
  assert.deepEqual(await found(`from=${last?.at}`), [last?.id]);
  assert.deepEqual(await found(`until=${last?.at}&action=session.archive`), [first?.id]);
  assert.deepEqual(await found(`from=${first?.at}&until=${first?.at}`), []);
  await door.refused("request_invalid", "GET /api/audit?from=yesterday");
});

test("[H4] what a user's role or device does not allow is refused by the engine, and logged with its code", async (t) => {
  const door = await testDoor(t, ticking());
  const member = await door.person("member");
  const reader = await door.person("reader");
  const id = newId();
  const { sessionId } = await json<{ sessionId: string }>(
    door.call("POST /api/ai/agent/execute", { json: { instruction: "x" } }),
  );
  const entry = { content: { prompt: "x" } };
  const tries: [as: Person, line: string, body: unknown, action: string][] = [
    [member, "POST /api/users", { name: "Grace" }, "user.create"],
    [member, `PATCH /api/users/${member.userId}`, { role: "admin" }, "user.role"],
    [member, `PATCH /api/orgs/${member.orgId}`, { name: "ours" }, "org.rename"],
    [member, "PUT /api/contexts/agent/own", entry, "context.change"],
    [member, "DELETE /api/contexts/agent/own", undefined, "context.remove"],
    [member, "POST /api/gc", { dryRun: false }, "garbage.collect"],
    [reader, "POST /api/keys", { name: "x" }, "key.create"],
    [reader, `DELETE /api/keys/${id}`, undefined, "key.revoke"],
    [reader, "POST /api/devices/pairing-codes", {}, "device.code"],
    [reader, `DELETE /api/devices/${id}`, undefined, "device.revoke"],
    [reader, `PATCH /api/sessions/${sessionId}`, { isPublic: true }, "session.share"],
    [reader, `DELETE /api/sessions/${sessionId}`, undefined, "session.remove"],
    [reader, "POST /api/sessions/import", undefined, "session.import"],
  ];
  for (const [as, line, body, action] of tries) {
    const lines = { body: "{}\n", headers: { "content-type": "application/x-ndjson" } };
    await door.refused("forbidden", line, { as, ...(action === "session.import" ? lines : { json: body }) });
    const { entries } = await json<{ entries: WireAuditEntry[] }>(door.call("GET /api/audit?limit=1"));
    const [newest] = entries;
    assert.partialDeepStrictEqual(newest, { action, outcome: "forbidden", userId: as.userId }, line);
  }
});
