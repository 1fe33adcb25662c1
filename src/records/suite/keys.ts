/** What a store must do with API keys (H4). */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { ApiKey } from "../../domain/caller.ts";
import { ada, awkwardText, noon, sampleOrgId, orgOf, userOf, type OpenRecordsForTest } from "./samples.ts";

/** The parts that these tests need. */
type Parts = "people" | "keys";

const user = userOf({
  name: awkwardText,
  role: "admin",
  email: "ada@example.org",
  externalId: awkwardText.slice(0, 9),
});

function keyOf(id: string, over: Partial<ApiKey> = {}): ApiKey {
  return {
    id,
    orgId: sampleOrgId,
    userId: ada,
    name: awkwardText,
    prefix: "apt_12",
    hash: `hash of ${id}`,
    deviceId: null,
    roleMax: null,
    createdAt: noon,
    expiresAt: null,
    lastUsedAt: null,
    revokedAt: null,
    workspaceId: null,
    limits: null,
    ...over,
  };
}

export function keyTests(open: OpenRecordsForTest<Parts>): void {
  test("[H4] a key is found by its hash together with its owner, and keys are listed from the oldest, by org, by user, by kind", async (context) => {
    const { store } = await open(context);
    await store.people.insertOrg(orgOf());
    const bob = userOf({ id: "user-bob", orgId: "org-2" });
    for (const each of [user, bob]) await store.people.insertUser(each);
    const plain = keyOf("key-b");
    const times = { createdAt: noon + 1, expiresAt: noon + 2, lastUsedAt: noon + 3, revokedAt: noon + 4 };
    const full = keyOf("key-a", { ...times, deviceId: "laptop", roleMax: "reader" });
    const elsewhere = keyOf("key-c", { orgId: "org-2", userId: bob.id });
    for (const key of [full, plain, elsewhere]) await store.keys.insert(key);
    assert.deepEqual(await store.keys.find([plain.hash]), [{ key: plain, user, org: orgOf() }]);
    assert.deepEqual(await store.keys.find([elsewhere.hash]), [{ key: elsewhere, user: bob, org: null }]);
    const found = await store.keys.find([elsewhere.hash, "no hash", plain.hash]);
    assert.deepEqual(found.map(({ key }) => key.id).toSorted(), [plain.id, elsewhere.id].toSorted());
    assert.deepEqual(await store.keys.find([]), []);
    assert.deepEqual([await store.keys.find(["no hash"]), await store.keys.get("no key")], [[], null]);
    assert.deepEqual(await store.keys.get(full.id), full);
    const page = { orgId: sampleOrgId, limit: 9 };
    assert.deepEqual(await store.keys.list(page), [plain, full]);
    assert.deepEqual(await store.keys.list({ ...page, limit: 1 }), [plain]);
    assert.deepEqual(await store.keys.list({ ...page, after: plain }), [full]);
    assert.deepEqual(await store.keys.list({ ...page, userId: bob.id }), []);
    assert.deepEqual(await store.keys.list({ ...page, ofDevices: true }), [full]);
    assert.deepEqual(await store.keys.list({ ...page, ofDevices: false }), [plain]);
    assert.deepEqual(await store.keys.list({ ...page, unrevoked: true }), [plain]);
  });

  test("[H4] a key is revoked only once, even if several try at the same time, and only by its own org", async (context) => {
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
    assert.equal(await revoke({ orgId: sampleOrgId, id: "key-2" }, noon + 4), false);
    assert.deepEqual(await store.keys.get(key.id), { ...key, revokedAt: noon + 2 });
  });

  test("[H4] a key has the time when it was last used", async (context) => {
    const { store } = await open(context);
    await store.people.insertUser(user);
    const key = keyOf("key-1");
    await store.keys.insert(key);
    assert.equal(await store.keys.update(key, { lastUsedAt: noon + 5 }), true);
    assert.equal(await store.keys.update({ orgId: sampleOrgId, id: "key-2" }, { lastUsedAt: noon + 6 }), false);
    assert.deepEqual(await store.keys.get(key.id), { ...key, lastUsedAt: noon + 5 });
    assert.equal(await store.keys.update(key, { revokedAt: noon + 7 }), true);
    assert.equal(await store.keys.update(key, { lastUsedAt: noon + 8, revokedAt: noon + 8 }), false);
    assert.equal(await store.keys.update(key, { lastUsedAt: noon + 9 }), true, "a revoked key may have been in use");
    assert.deepEqual(await store.keys.get(key.id), { ...key, lastUsedAt: noon + 9, revokedAt: noon + 7 });
  });
}
