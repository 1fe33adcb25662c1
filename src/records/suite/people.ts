/** What a store must do with orgs, users, their keys, and what was done. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { AuditEntry } from "../../domain/audit.ts";
import type { ApiKey } from "../../domain/caller.ts";
import { ada, awkwardText, noon, openTwice, org, orgOf, startSession, userOf, type OpenForTest } from "./samples.ts";

const user = userOf({
  name: awkwardText,
  role: "admin",
  email: "ada@example.org",
  externalId: awkwardText.slice(0, 9),
});

function keyOf(id: string, over: Partial<ApiKey> = {}): ApiKey {
  return {
    id,
    orgId: org,
    userId: ada,
    name: awkwardText,
    prefix: "apt_12",
    hash: `hash of ${id}`,
    deviceId: null,
    createdAt: noon,
    expiresAt: null,
    lastUsedAt: null,
    revokedAt: null,
    ...over,
  };
}

export function peopleTests(open: OpenForTest): void {
  orgTests(open);
  userTests(open);
  keyTests(open);
  participantTests(open);
  auditTests(open);
}

function orgTests(open: OpenForTest): void {
  test("[H4] orgs come back as they were put in, from the oldest, a page at a time, and change by field", async (context) => {
    const { store } = await open(context);
    const orgs = [orgOf({ id: "b" }), orgOf({ id: "c", name: awkwardText }), orgOf({ id: "a", createdAt: noon + 1 })];
    for (const each of orgs.toReversed()) await store.people.insertOrg(each);
    const first = await store.people.listOrgs({ limit: 2 });
    assert.deepEqual(first, orgs.slice(0, 2));
    assert.deepEqual(await store.people.listOrgs({ limit: 2, after: first[1] ?? assert.fail() }), orgs.slice(2));
    const suspended = { ...orgs[0], suspendedAt: noon + 5 };
    assert.deepEqual(await store.people.updateOrg("b", { suspendedAt: noon + 5 }), suspended);
    assert.deepEqual(await store.people.updateOrg("b", { name: "new" }), { ...suspended, name: "new" });
    assert.deepEqual(await store.people.getOrg("b"), { ...suspended, name: "new" });
    assert.deepEqual([await store.people.getOrg("x"), await store.people.updateOrg("x", { name: "x" })], [null, null]);
    await assert.rejects(store.people.insertOrg(orgOf({ id: "b" })), { code: "storage_failed" });
  });
}

function userTests(open: OpenForTest): void {
  test("[H4] users come back as they were put in, by org, from the oldest", async (context) => {
    const { store } = await open(context);
    const older = userOf({ id: "user-z", name: "Z", role: "reader", createdAt: noon - 1, disabledAt: noon });
    const stranger = { ...user, id: "user-s", orgId: "org-2" };
    for (const each of [user, older, stranger]) assert.equal(await store.people.insertUser(each), true);
    assert.deepEqual(await store.people.getUser(user.id), user);
    assert.equal(await store.people.getUser("user-nobody"), null);
    const page = { orgId: org, limit: 9 };
    assert.deepEqual(await store.people.listUsers(page), [older, user]);
    assert.deepEqual(await store.people.listUsers({ ...page, after: older }), [user]);
    assert.deepEqual(await store.people.listUsers({ ...page, orgId: "org-3" }), []);
    await assert.rejects(store.people.insertUser({ ...user, name: "another", email: null, externalId: null }), {
      code: "storage_failed",
    });
  });

  test("[H4] an email and an external id are one person's in an org, and find them there", async (context) => {
    const { store } = await open(context);
    await store.people.insertUser(user);
    const [email, externalId] = [user.email ?? "", user.externalId ?? ""];
    const other = userOf({ id: "user-bob" });
    assert.equal(await store.people.insertUser({ ...other, email }), false);
    assert.equal(await store.people.insertUser({ ...other, externalId }), false);
    assert.equal(await store.people.getUser(other.id), null);
    await store.people.insertUser(other);
    assert.deepEqual(await store.people.updateUser(org, other.id, { email }), { outcome: "taken" });
    assert.deepEqual(await store.people.getUser(other.id), other);
    await store.people.insertUser({ ...other, id: "elsewhere", orgId: "org-2", email, externalId });
    assert.deepEqual(await store.people.findUser(org, { email }), user);
    assert.deepEqual(await store.people.findUser(org, { externalId }), user);
    assert.equal((await store.people.findUser("org-2", { email }))?.id, "elsewhere");
    assert.equal(await store.people.findUser("org-3", { externalId }), null);
  });

  test("[H4] an org keeps an admin who is not disabled; every other change of its own people is made", async (context) => {
    const { store } = await open(context);
    await store.people.insertUser(user);
    await store.people.insertUser(userOf({ id: "disabled", role: "admin", disabledAt: noon }));
    await store.people.insertUser(userOf({ id: "elsewhere", role: "admin", orgId: "org-2" }));
    for (const patch of [{ role: "member" }, { disabledAt: noon }] as const) {
      assert.deepEqual(await store.people.updateUser(org, ada, patch), { outcome: "last_admin" });
    }
    assert.deepEqual(await store.people.updateUser(org, ada, { name: "A" }), {
      outcome: "updated",
      user: { ...user, name: "A" },
    });
    assert.equal((await store.people.updateUser(org, "disabled", { disabledAt: null })).outcome, "updated");
    const demoted = { ...user, name: "A", role: "reader" };
    assert.deepEqual(await store.people.updateUser(org, ada, { role: "reader" }), {
      outcome: "updated",
      user: demoted,
    });
    assert.deepEqual(await store.people.getUser(ada), demoted);
    for (const id of ["elsewhere", "nobody"]) {
      assert.deepEqual(await store.people.updateUser(org, id, { name: "x" }), { outcome: "missing" });
    }
  });

  test("[H4] of the last two admins who go at once, from two processes, one stays", async (context) => {
    const stores = await openTwice(context, open);
    if (stores === null) return;
    const [one, two] = stores;
    await one.people.insertUser(userOf({ id: "a", role: "admin" }));
    await one.people.insertUser(userOf({ id: "b", role: "admin" }));
    const results = await Promise.all([
      one.people.updateUser(org, "a", { role: "member" }),
      two.people.updateUser(org, "b", { disabledAt: noon }),
    ]);
    assert.deepEqual(results.map(({ outcome }) => outcome).toSorted(), ["last_admin", "updated"]);
  });
}

function keyTests(open: OpenForTest): void {
  test("[H4] a key is found by its hash with whose it is, and listed from the oldest, by org, by user, by kind", async (context) => {
    const { store } = await open(context);
    await store.people.insertOrg(orgOf());
    const bob = userOf({ id: "user-bob", orgId: "org-2" });
    for (const each of [user, bob]) await store.people.insertUser(each);
    const plain = keyOf("key-b");
    const times = { createdAt: noon + 1, expiresAt: noon + 2, lastUsedAt: noon + 3, revokedAt: noon + 4 };
    const full = keyOf("key-a", { ...times, deviceId: "laptop" });
    const elsewhere = keyOf("key-c", { orgId: "org-2", userId: bob.id });
    for (const key of [full, plain, elsewhere]) await store.keys.insert(key);
    assert.deepEqual(await store.keys.find([plain.hash]), [{ key: plain, user, org: orgOf() }]);
    assert.deepEqual(await store.keys.find([elsewhere.hash]), [{ key: elsewhere, user: bob, org: null }]);
    const found = await store.keys.find([elsewhere.hash, "no hash", plain.hash]);
    assert.deepEqual(found.map(({ key }) => key.id).toSorted(), [plain.id, elsewhere.id].toSorted());
    assert.deepEqual(await store.keys.find([]), []);
    assert.deepEqual([await store.keys.find(["no hash"]), await store.keys.get("no key")], [[], null]);
    assert.deepEqual(await store.keys.get(full.id), full);
    const page = { orgId: org, limit: 9 };
    assert.deepEqual(await store.keys.list(page), [plain, full]);
    assert.deepEqual(await store.keys.list({ ...page, limit: 1 }), [plain]);
    assert.deepEqual(await store.keys.list({ ...page, after: plain }), [full]);
    assert.deepEqual(await store.keys.list({ ...page, userId: bob.id }), []);
    assert.deepEqual(await store.keys.list({ ...page, ofDevices: true }), [full]);
    assert.deepEqual(await store.keys.list({ ...page, ofDevices: false }), [plain]);
    assert.deepEqual(await store.keys.list({ ...page, unrevoked: true }), [plain]);
  });

  test("[H4] a key is revoked once, whoever else tries at the same time, and only by its own org", async (context) => {
    const { store } = await open(context);
    await store.people.insertUser(user);
    const key = keyOf("key-1");
    await store.keys.insert(key);
    const revoke = (which: { orgId: string; id: string }, revokedAt: number): Promise<boolean> =>
      store.keys.update(which, { revokedAt });
    assert.equal(await revoke({ orgId: "org-2", id: key.id }, noon + 1), false);
    assert.deepEqual(await store.keys.get(key.id), key);
    const results = await Promise.all([1, 2, 3, 4, 5].map(() => revoke(key, noon + 2)));
    assert.equal(results.filter((isRevoked) => isRevoked).length, 1);
    assert.equal(await revoke({ orgId: org, id: "key-2" }, noon + 4), false);
    assert.deepEqual(await store.keys.get(key.id), { ...key, revokedAt: noon + 2 });
  });

  test("[H4] a key tells when it was last used", async (context) => {
    const { store } = await open(context);
    await store.people.insertUser(user);
    const key = keyOf("key-1");
    await store.keys.insert(key);
    assert.equal(await store.keys.update(key, { lastUsedAt: noon + 5 }), true);
    assert.equal(await store.keys.update({ orgId: org, id: "key-2" }, { lastUsedAt: noon + 6 }), false);
    assert.deepEqual(await store.keys.get(key.id), { ...key, lastUsedAt: noon + 5 });
    assert.equal(await store.keys.update(key, { revokedAt: noon + 7 }), true);
    assert.equal(await store.keys.update(key, { lastUsedAt: noon + 8, revokedAt: noon + 8 }), false);
    assert.equal(await store.keys.update(key, { lastUsedAt: noon + 9 }), true, "a revoked key may have been in use");
    assert.deepEqual(await store.keys.get(key.id), { ...key, lastUsedAt: noon + 9, revokedAt: noon + 7 });
  });
}

function participantTests(open: OpenForTest): void {
  test("[S7] who is invited takes part and finds the session; who is dismissed does not", async (context) => {
    const { store } = await open(context);
    const session = await startSession(store, { orgId: org });
    const change = async (invited: string[], dismissed: string[], id = session.id): Promise<string[]> => {
      await store.sessions.changeParticipants(id, { invited, dismissed });
      return await store.sessions.listParticipants(session.id);
    };
    assert.deepEqual(await change(["user-c", "user-b"], []), ["user-b", "user-c"]);
    assert.deepEqual(await change(["user-b"], ["user-d"]), ["user-b", "user-c"]);
    const found = await store.sessions.list({ orgId: org, userId: "user-b", limit: 9 });
    assert.deepEqual(found.sessions, [session]);
    assert.equal(await store.sessions.isParticipant(session.id, "user-b"), true);
    assert.deepEqual(await change([], ["user-b"]), ["user-c"]);
    assert.deepEqual(await store.sessions.list({ orgId: org, userId: "user-b", limit: 9 }), {
      sessions: [],
      next: null,
    });
    assert.deepEqual(await change(["user-b"], [], "no session"), ["user-c"]);
  });
}

function auditTests(open: OpenForTest): void {
  const entry = (id: string, at: number, over: Partial<AuditEntry> = {}): AuditEntry => {
    const who = { orgId: org, userId: ada, keyId: "key-1", requestId: null };
    return { id, at, ...who, action: "key.create", targetId: "key-2", outcome: "done", facts: { role: "x" }, ...over };
  };

  test("[H4] the audit log gives back what was written, newest first, a page at a time, until it is dropped", async (context) => {
    const { store } = await open(context);
    const nobody = { userId: null, keyId: null, targetId: null, outcome: "forbidden", facts: {} } as const;
    const entries = [entry("c", noon + 1), entry("b", noon), entry("a", noon, nobody)];
    for (const each of [...entries, entry("x", noon, { orgId: "org-2" })]) await store.audit.insert(each);
    const first = await store.audit.list({ orgId: org, limit: 2 });
    assert.deepEqual(first, entries.slice(0, 2));
    assert.deepEqual(
      await store.audit.list({ orgId: org, limit: 2, after: first[1] ?? assert.fail() }),
      entries.slice(2),
    );
    const found = async (query: object): Promise<string[]> =>
      (await store.audit.list({ orgId: org, limit: 9, ...query })).map(({ id }) => id);
    assert.deepEqual(await found({ userId: ada }), ["c", "b"]);
    assert.deepEqual(await found({ action: "key.revoke" }), []);
    assert.deepEqual(await found({ targetId: "key-2", action: "key.create" }), ["c", "b"]);
    // The oldest of all orgs go first.
    assert.equal(await store.audit.drop(noon + 1, 1), 1);
    assert.deepEqual(await found({}), ["c", "b"]);
    assert.equal(await store.audit.drop(noon + 1, 9), 2);
    assert.deepEqual(await found({}), ["c"]);
  });
}
