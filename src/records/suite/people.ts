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
    for (const each of orgs.toReversed()) await store.insertOrg(each);
    const first = await store.listOrgs({ limit: 2 });
    assert.deepEqual(first, orgs.slice(0, 2));
    assert.deepEqual(await store.listOrgs({ limit: 2, after: first[1] ?? assert.fail() }), orgs.slice(2));
    const suspended = { ...orgs[0], suspendedAt: noon + 5 };
    assert.deepEqual(await store.updateOrg("b", { suspendedAt: noon + 5 }), suspended);
    assert.deepEqual(await store.updateOrg("b", { name: "new" }), { ...suspended, name: "new" });
    assert.deepEqual(await store.getOrg("b"), { ...suspended, name: "new" });
    assert.deepEqual([await store.getOrg("x"), await store.updateOrg("x", { name: "x" })], [null, null]);
    await assert.rejects(store.insertOrg(orgOf({ id: "b" })), { code: "storage_failed" });
  });
}

function userTests(open: OpenForTest): void {
  test("[H4] users come back as they were put in, by org, from the oldest", async (context) => {
    const { store } = await open(context);
    const older = userOf({ id: "user-z", name: "Z", role: "reader", createdAt: noon - 1, disabledAt: noon });
    const stranger = { ...user, id: "user-s", orgId: "org-2" };
    for (const each of [user, older, stranger]) assert.equal(await store.insertUser(each), true);
    assert.deepEqual(await store.getUser(user.id), user);
    assert.equal(await store.getUser("user-nobody"), null);
    const page = { orgId: org, limit: 9 };
    assert.deepEqual(await store.listUsers(page), [older, user]);
    assert.deepEqual(await store.listUsers({ ...page, after: older }), [user]);
    assert.deepEqual(await store.listUsers({ ...page, orgId: "org-3" }), []);
    await assert.rejects(store.insertUser({ ...user, name: "another", email: null, externalId: null }), {
      code: "storage_failed",
    });
  });

  test("[H4] an email and an external id are one person's in an org, and find them there", async (context) => {
    const { store } = await open(context);
    await store.insertUser(user);
    const [email, externalId] = [user.email ?? "", user.externalId ?? ""];
    const other = userOf({ id: "user-bob" });
    assert.equal(await store.insertUser({ ...other, email }), false);
    assert.equal(await store.insertUser({ ...other, externalId }), false);
    assert.equal(await store.getUser(other.id), null);
    await store.insertUser(other);
    assert.deepEqual(await store.updateUser(org, other.id, { email }), { outcome: "taken" });
    assert.deepEqual(await store.getUser(other.id), other);
    await store.insertUser({ ...other, id: "elsewhere", orgId: "org-2", email, externalId });
    assert.deepEqual(await store.findUser(org, { email }), user);
    assert.deepEqual(await store.findUser(org, { externalId }), user);
    assert.equal((await store.findUser("org-2", { email }))?.id, "elsewhere");
    assert.equal(await store.findUser("org-3", { externalId }), null);
  });

  test("[H4] an org keeps an admin who is not disabled; every other change of its own people is made", async (context) => {
    const { store } = await open(context);
    await store.insertUser(user);
    await store.insertUser(userOf({ id: "disabled", role: "admin", disabledAt: noon }));
    await store.insertUser(userOf({ id: "elsewhere", role: "admin", orgId: "org-2" }));
    for (const patch of [{ role: "member" }, { disabledAt: noon }] as const) {
      assert.deepEqual(await store.updateUser(org, ada, patch), { outcome: "last_admin" });
    }
    assert.deepEqual(await store.updateUser(org, ada, { name: "A" }), {
      outcome: "updated",
      user: { ...user, name: "A" },
    });
    assert.equal((await store.updateUser(org, "disabled", { disabledAt: null })).outcome, "updated");
    const demoted = { ...user, name: "A", role: "reader" };
    assert.deepEqual(await store.updateUser(org, ada, { role: "reader" }), { outcome: "updated", user: demoted });
    assert.deepEqual(await store.getUser(ada), demoted);
    for (const id of ["elsewhere", "nobody"]) {
      assert.deepEqual(await store.updateUser(org, id, { name: "x" }), { outcome: "missing" });
    }
  });

  test("[H4] of the last two admins who go at once, from two processes, one stays", async (context) => {
    const stores = await openTwice(context, open);
    if (stores === null) return;
    const [one, two] = stores;
    await one.insertUser(userOf({ id: "a", role: "admin" }));
    await one.insertUser(userOf({ id: "b", role: "admin" }));
    const results = await Promise.all([
      one.updateUser(org, "a", { role: "member" }),
      two.updateUser(org, "b", { disabledAt: noon }),
    ]);
    assert.deepEqual(results.map(({ outcome }) => outcome).toSorted(), ["last_admin", "updated"]);
  });
}

function keyTests(open: OpenForTest): void {
  test("[H4] a key is found by its hash with whose it is, and listed from the oldest, by org, by user, by kind", async (context) => {
    const { store } = await open(context);
    await store.insertOrg(orgOf());
    const bob = userOf({ id: "user-bob", orgId: "org-2" });
    for (const each of [user, bob]) await store.insertUser(each);
    const plain = keyOf("key-b");
    const times = { createdAt: noon + 1, expiresAt: noon + 2, lastUsedAt: noon + 3, revokedAt: noon + 4 };
    const full = keyOf("key-a", { ...times, deviceId: "laptop" });
    const elsewhere = keyOf("key-c", { orgId: "org-2", userId: bob.id });
    for (const key of [full, plain, elsewhere]) await store.insertKey(key);
    assert.deepEqual(await store.findKey(plain.hash), { key: plain, user, org: orgOf() });
    assert.deepEqual(await store.findKey(elsewhere.hash), { key: elsewhere, user: bob, org: null });
    const found = await store.findKeys([elsewhere.hash, "no hash", plain.hash]);
    assert.deepEqual(found.map(({ key }) => key.id).toSorted(), [plain.id, elsewhere.id].toSorted());
    assert.deepEqual(await store.findKeys([]), []);
    assert.deepEqual([await store.findKey("no hash"), await store.getKey("no key")], [null, null]);
    assert.deepEqual(await store.getKey(full.id), full);
    const page = { orgId: org, limit: 9 };
    assert.deepEqual(await store.listKeys(page), [plain, full]);
    assert.deepEqual(await store.listKeys({ ...page, limit: 1 }), [plain]);
    assert.deepEqual(await store.listKeys({ ...page, after: plain }), [full]);
    assert.deepEqual(await store.listKeys({ ...page, userId: bob.id }), []);
    assert.deepEqual(await store.listKeys({ ...page, ofDevices: true }), [full]);
    assert.deepEqual(await store.listKeys({ ...page, ofDevices: false }), [plain]);
    assert.deepEqual(await store.listKeys({ ...page, unrevoked: true }), [plain]);
  });

  test("[H4] a key is revoked once, whoever else tries at the same time, and only by its own org", async (context) => {
    const { store } = await open(context);
    await store.insertUser(user);
    const key = keyOf("key-1");
    await store.insertKey(key);
    assert.equal(await store.revokeKey("org-2", key.id, noon + 1), false);
    assert.deepEqual(await store.getKey(key.id), key);
    const results = await Promise.all([1, 2, 3, 4, 5].map(() => store.revokeKey(org, "key-1", noon + 2)));
    assert.equal(results.filter((isRevoked) => isRevoked).length, 1);
    assert.equal(await store.revokeKey(org, "key-2", noon + 4), false);
    assert.deepEqual(await store.getKey(key.id), { ...key, revokedAt: noon + 2 });
  });

  test("[H4] a key tells when it was last used", async (context) => {
    const { store } = await open(context);
    await store.insertUser(user);
    const key = keyOf("key-1");
    await store.insertKey(key);
    await store.touchKey(key.id, noon + 5);
    await store.touchKey("key-2", noon + 6);
    assert.deepEqual(await store.getKey(key.id), { ...key, lastUsedAt: noon + 5 });
  });
}

function participantTests(open: OpenForTest): void {
  test("[S7] who is invited takes part and finds the session; who is dismissed does not", async (context) => {
    const { store } = await open(context);
    const session = await startSession(store, { orgId: org });
    const change = async (invited: string[], dismissed: string[], id = session.id): Promise<string[]> => {
      await store.changeParticipants(id, { invited, dismissed });
      return await store.listParticipants(session.id);
    };
    assert.deepEqual(await change(["user-c", "user-b"], []), ["user-b", "user-c"]);
    assert.deepEqual(await change(["user-b"], ["user-d"]), ["user-b", "user-c"]);
    const found = await store.listSessions({ orgId: org, userId: "user-b", limit: 9 });
    assert.deepEqual(found.sessions, [session]);
    assert.equal(await store.tookPart(session.id, "user-b"), true);
    assert.deepEqual(await change([], ["user-b"]), ["user-c"]);
    assert.deepEqual(await store.listSessions({ orgId: org, userId: "user-b", limit: 9 }), {
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
    for (const each of [...entries, entry("x", noon, { orgId: "org-2" })]) await store.insertAudit(each);
    const first = await store.listAudit({ orgId: org, limit: 2 });
    assert.deepEqual(first, entries.slice(0, 2));
    assert.deepEqual(
      await store.listAudit({ orgId: org, limit: 2, after: first[1] ?? assert.fail() }),
      entries.slice(2),
    );
    const found = async (query: object): Promise<string[]> =>
      (await store.listAudit({ orgId: org, limit: 9, ...query })).map(({ id }) => id);
    assert.deepEqual(await found({ userId: ada }), ["c", "b"]);
    assert.deepEqual(await found({ action: "key.revoke" }), []);
    assert.deepEqual(await found({ targetId: "key-2", action: "key.create" }), ["c", "b"]);
    // The oldest of all orgs go first.
    assert.equal(await store.dropAudit(noon + 1, 1), 1);
    assert.deepEqual(await found({}), ["c", "b"]);
    assert.equal(await store.dropAudit(noon + 1, 9), 2);
    assert.deepEqual(await found({}), ["c"]);
  });
}
