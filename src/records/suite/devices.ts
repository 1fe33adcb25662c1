/** What a store must do with devices and the codes that pair them (P3). */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { ApiKey } from "../../domain/caller.ts";
import type { PairingCode } from "../../domain/device.ts";
import { newId } from "../../domain/ids.ts";
import type { ClaimResult, PairingClaim } from "../record-store.ts";
import {
  ada,
  awkwardText,
  noon,
  openTwice,
  sampleOrgId,
  userOf,
  type OpenRecordsForTest,
  type RecordsWith,
} from "./samples.ts";

/** The parts that these tests need. */
type Parts = "people" | "keys" | "devices";
type Records = RecordsWith<Parts>;

const bob = "user-bob";
const life = 300_000;

async function withPeople(store: Records): Promise<void> {
  for (const id of [ada, bob]) {
    await store.people.insertUser(userOf({ id }));
  }
}

function codeOf(hash: string, over: Partial<PairingCode> = {}): PairingCode {
  const times = { createdAt: noon, expiresAt: noon + life, claimedAt: null };
  return {
    id: newId(),
    orgId: sampleOrgId,
    userId: ada,
    roleMax: "member",
    label: "7K3M",
    hash,
    triesLeft: 5,
    keyId: null,
    workspaceId: null,
    ...times,
    ...over,
  };
}

function claimOf(hash: string, over: Partial<PairingClaim> = {}): PairingClaim {
  const id = newId();
  const unused = { expiresAt: null, lastUsedAt: null, revokedAt: null, workspaceId: null, limits: null };
  const key = { id, name: awkwardText, prefix: "apt_12", hash: `token ${id}`, createdAt: noon + 1, ...unused };
  return { label: "7K3M", hash, at: noon + 1, key, deviceIds: [`made ${id}`], ...over };
}

async function claimed(store: Records, claim: PairingClaim): Promise<ApiKey> {
  const result = await store.devices.claimCode(claim);
  assert.equal(result.outcome, "claimed");
  return result.key;
}

async function triesLeft(store: Records, { id }: PairingCode): Promise<number | undefined> {
  return (await store.devices.getCode(id))?.triesLeft;
}

const outcomes = (results: readonly ClaimResult[]): string[] => results.map(({ outcome }) => outcome).toSorted();

export function deviceTests(open: OpenRecordsForTest<Parts>): void {
  codeTests(open);
  guessTests(open);
  deviceIdTests(open);
}

function codeTests(open: OpenRecordsForTest<Parts>): void {
  test("[P3] a code gives one device a token of the user who made it", async (context) => {
    const { store } = await open(context);
    await withPeople(store);
    const code = codeOf("right", { userId: bob, workspaceId: "default" });
    await store.devices.insertCode(code);
    assert.deepEqual(await store.devices.getCode(code.id), code);
    const claim = claimOf("right", { deviceIds: ["phone"] });
    const result = await store.devices.claimCode(claim);
    assert.equal(result.outcome, "claimed");
    const { key, workspaceId } = result;
    assert.equal(workspaceId, "default");
    assert.deepEqual(key, { ...claim.key, orgId: sampleOrgId, userId: bob, deviceId: "phone", roleMax: "member" });
    assert.deepEqual((await store.keys.find([key.hash]))[0]?.key, key);
    assert.deepEqual(await store.devices.getCode(code.id), { ...code, claimedAt: claim.at, keyId: key.id });
    assert.deepEqual(await store.devices.claimCode(claim), result, "the same claim, made again");
    const others = [
      { ...claim, hash: "wrong" },
      { ...claim, key: { ...claim.key, hash: "another token" } },
    ];
    for (const other of others) assert.deepEqual(await store.devices.claimCode(other), { outcome: "refused" });
  });

  test("[P3] a code works once, and not after its expiry", async (context) => {
    const { store } = await open(context);
    await withPeople(store);
    await store.devices.insertCode(codeOf("used"));
    await claimed(store, claimOf("used"));
    await store.devices.insertCode(codeOf("late"));
    const refused = [claimOf("used"), claimOf("late", { at: noon + life })];
    for (const claim of refused) {
      assert.deepEqual(await store.devices.claimCode(claim), { outcome: "refused" });
      assert.deepEqual(await store.keys.find([claim.key.hash]), []);
    }
    await claimed(store, claimOf("late", { at: noon + life - 1 }));
  });

  test("[P3] expired codes are deleted when a new one is made", async (context) => {
    const { store } = await open(context);
    await withPeople(store);
    const [old, newer, newest] = [codeOf("a"), codeOf("b", { expiresAt: noon + life + 1 }), codeOf("c")];
    for (const code of [old, newer]) await store.devices.insertCode(code);
    await store.devices.insertCode({ ...newest, createdAt: noon + life, expiresAt: noon + 2 * life });
    assert.equal(await store.devices.getCode(old.id), null);
    assert.deepEqual(await store.devices.getCode(newer.id), newer);
    assert.equal(await store.devices.getCode("no code"), null);
  });

  test("[P3] when many claim a code at once, one gets a token", async (context) => {
    const { store } = await open(context);
    await withPeople(store);
    await store.devices.insertCode(codeOf("right"));
    const results = await Promise.all([1, 2, 3, 4].map(() => store.devices.claimCode(claimOf("right"))));
    assert.deepEqual(outcomes(results), ["claimed", "refused", "refused", "refused"]);
    assert.equal((await store.keys.list({ orgId: sampleOrgId, limit: 9 })).length, 1);
  });
}

function guessTests(open: OpenRecordsForTest<Parts>): void {
  test("[P3] a wrong guess costs every open code with its label a try and no other code; after the last try a code no longer works", async (context) => {
    const { store } = await open(context);
    await withPeople(store);
    const [first, second] = [codeOf("first"), codeOf("second", { userId: bob, triesLeft: 2 })];
    const [used, late] = [codeOf("used"), codeOf("late", { expiresAt: noon + 1 })];
    const other = codeOf("other", { label: "9QXT" });
    const old = codeOf("old", { label: null, roleMax: null });
    for (const code of [first, second, used, late, other, old]) await store.devices.insertCode(code);
    await claimed(store, claimOf("used"));
    for (const hash of ["wrong", "used"]) await store.devices.claimCode(claimOf(hash));
    const left = await Promise.all([first, second, used, late, other, old].map((code) => triesLeft(store, code)));
    assert.deepEqual(left, [3, 0, 5, 5, 5, 5]);
    assert.deepEqual(await store.devices.claimCode(claimOf("other")), { outcome: "refused" });
    assert.deepEqual(await store.devices.getCode(old.id), old);
    assert.deepEqual(await store.devices.claimCode(claimOf("second")), { outcome: "refused" });
    assert.deepEqual([await triesLeft(store, first), await triesLeft(store, second)], [1, 0]);
    await claimed(store, claimOf("first"));
  });

  test("[P3] [B4] simultaneous guesses through two processes are counted one by one", async (context) => {
    const stores = await openTwice(context, open);
    if (stores === null) return;
    const [here, there] = stores;
    await withPeople(here);
    const code = codeOf("right");
    await here.devices.insertCode(code);
    const guesses = Array.from({ length: 12 }, (_, n) => (n % 2 === 0 ? here : there).devices.claimCode(claimOf("no")));
    assert.deepEqual(new Set(outcomes(await Promise.all(guesses))), new Set(["refused"]));
    assert.equal(await triesLeft(there, code), 0);
    assert.deepEqual(await there.devices.claimCode(claimOf("right")), { outcome: "refused" });

    await there.devices.insertCode(codeOf("again"));
    const both = await Promise.all([here, there].map((store) => store.devices.claimCode(claimOf("again"))));
    assert.deepEqual(outcomes(both), ["claimed", "refused"]);
  });
}

function deviceIdTests(open: OpenRecordsForTest<Parts>): void {
  test("[P3] [W2] a device id belongs to its first owner permanently", async (context) => {
    const { store } = await open(context);
    await withPeople(store);
    const first = { deviceId: "laptop", orgId: sampleOrgId, userId: ada, at: noon };
    assert.deepEqual(await store.devices.register(first), first);
    assert.deepEqual(await store.devices.register({ ...first, at: noon + 1 }), first);
    assert.deepEqual(await store.devices.register({ ...first, userId: bob }), first);
    const others = await Promise.all(
      [ada, bob, ada, bob].map((userId) => store.devices.register({ ...first, deviceId: "tablet", userId })),
    );
    assert.equal(new Set(others.map(({ userId }) => userId)).size, 1);
  });

  test("[P3] a device gets the first id that no other user owns, and its former token is revoked", async (context) => {
    const { store } = await open(context);
    await withPeople(store);
    const pair = async (userId: string, deviceIds: string[]): Promise<ApiKey> => {
      await store.devices.insertCode(codeOf("code", { userId }));
      return await claimed(store, claimOf("code", { deviceIds, at: noon + 2 }));
    };
    const former = await pair(ada, ["phone"]);
    const foreign = await pair(bob, ["phone", "bobs-phone"]);
    assert.equal(foreign.deviceId, "bobs-phone");
    assert.equal((await store.keys.get(former.id))?.revokedAt, null);
    const again = await pair(ada, ["phone", "unused"]);
    assert.equal(again.deviceId, "phone");
    assert.equal((await store.keys.get(former.id))?.revokedAt, noon + 2);
    assert.equal((await store.keys.get(foreign.id))?.revokedAt, null);
    // A device id stays with its owner even after its token was revoked.
    assert.equal((await pair(bob, ["phone", "bobs-other"])).deviceId, "bobs-other");
  });
}
