/** What a store must do with users and their keys. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { ApiKey, User } from "../../domain/caller.ts";
import { ada, awkwardText, noon, org, type OpenForTest } from "./samples.ts";

const user: User = { id: ada, orgId: org, name: awkwardText, role: "admin", createdAt: noon };

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
  test("[H4] users come back as they were put in, by org, from the oldest", async (context) => {
    const { store } = await open(context);
    const older: User = { id: "user-z", orgId: org, name: "Z", role: "reader", createdAt: noon - 1 };
    const stranger: User = { ...older, id: "user-s", orgId: "org-2" };
    for (const each of [user, older, stranger]) await store.insertUser(each);
    assert.deepEqual(await store.getUser(user.id), user);
    assert.equal(await store.getUser("user-nobody"), null);
    assert.deepEqual(await store.listUsers(org), [older, user]);
    assert.deepEqual(await store.listUsers("org-3"), []);
    await assert.rejects(store.insertUser({ ...user, name: "another" }), { code: "storage_failed" });
  });

  test("[H4] a key is found by its hash, and listed by org from the oldest", async (context) => {
    const { store } = await open(context);
    await store.insertUser(user);
    const plain = keyOf("key-b");
    const full = keyOf("key-a", {
      createdAt: noon + 1,
      expiresAt: noon + 2,
      lastUsedAt: noon + 3,
      revokedAt: noon + 4,
      deviceId: "laptop",
    });
    const elsewhere = keyOf("key-c", { orgId: "org-2" });
    for (const key of [full, plain, elsewhere]) await store.insertKey(key);
    assert.deepEqual(await store.findKey(plain.hash), plain);
    assert.deepEqual(await store.findKey(full.hash), full);
    assert.equal(await store.findKey("hash of nothing"), null);
    assert.deepEqual(await store.listKeys(org), [plain, full]);
  });

  test("[H4] a key is revoked once, and only by its own org", async (context) => {
    const { store } = await open(context);
    await store.insertUser(user);
    const key = keyOf("key-1");
    await store.insertKey(key);
    assert.equal(await store.revokeKey("org-2", key.id, noon + 1), false);
    assert.deepEqual(await store.findKey(key.hash), key);
    assert.equal(await store.revokeKey(org, key.id, noon + 2), true);
    assert.equal(await store.revokeKey(org, key.id, noon + 3), false);
    assert.equal(await store.revokeKey(org, "key-2", noon + 4), false);
    assert.deepEqual(await store.findKey(key.hash), { ...key, revokedAt: noon + 2 });
  });

  test("[H4] of many who revoke a key at once one did it", async (context) => {
    const { store } = await open(context);
    await store.insertUser(user);
    await store.insertKey(keyOf("key-1"));
    const results = await Promise.all([1, 2, 3, 4, 5].map((at) => store.revokeKey(org, "key-1", noon + at)));
    assert.equal(results.filter((isRevoked) => isRevoked).length, 1);
  });

  test("[H4] a key tells when it was last used", async (context) => {
    const { store } = await open(context);
    await store.insertUser(user);
    const key = keyOf("key-1");
    await store.insertKey(key);
    await store.touchKey(key.id, noon + 5);
    await store.touchKey("key-2", noon + 6);
    assert.deepEqual(await store.findKey(key.hash), { ...key, lastUsedAt: noon + 5 });
  });
}
