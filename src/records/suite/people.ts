/** What a store must do with orgs and users (H4). */
import assert from "node:assert/strict";
import { test } from "node:test";
import { ada, awkwardText, noon, openTwice, sampleOrgId, orgOf, userOf, type OpenRecordsForTest } from "./samples.ts";

/** The parts that these tests need. */
type Parts = "people";

const user = userOf({
  name: awkwardText,
  role: "admin",
  email: "ada@example.org",
  externalId: awkwardText.slice(0, 9),
});

export function peopleTests(open: OpenRecordsForTest<Parts>): void {
  orgTests(open);
  userTests(open);
}

function orgTests(open: OpenRecordsForTest<Parts>): void {
  test("[H4] orgs come back as they were stored, oldest first, a page at a time, and change by field", async (context) => {
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

function userTests(open: OpenRecordsForTest<Parts>): void {
  test("[H4] users come back as they were stored, by org, oldest first", async (context) => {
    const { store } = await open(context);
    const older = userOf({ id: "user-z", name: "Z", role: "reader", createdAt: noon - 1, disabledAt: noon });
    const stranger = { ...user, id: "user-s", orgId: "org-2" };
    for (const each of [user, older, stranger]) assert.equal(await store.people.insertUser(each), true);
    assert.deepEqual(await store.people.getUser(user.id), user);
    assert.equal(await store.people.getUser("user-unknown"), null);
    const page = { orgId: sampleOrgId, limit: 9 };
    assert.deepEqual(await store.people.listUsers(page), [older, user]);
    assert.deepEqual(await store.people.listUsers({ ...page, after: older }), [user]);
    assert.deepEqual(await store.people.listUsers({ ...page, orgId: "org-3" }), []);
    await assert.rejects(store.people.insertUser({ ...user, name: "another", email: null, externalId: null }), {
      code: "storage_failed",
    });
  });

  test("[H4] an email and an external id are unique within an org, and find their user there", async (context) => {
    const { store } = await open(context);
    await store.people.insertUser(user);
    const [email, externalId] = [user.email ?? "", user.externalId ?? ""];
    const other = userOf({ id: "user-bob" });
    assert.equal(await store.people.insertUser({ ...other, email }), false);
    assert.equal(await store.people.insertUser({ ...other, externalId }), false);
    assert.equal(await store.people.getUser(other.id), null);
    await store.people.insertUser(other);
    assert.deepEqual(await store.people.updateUser(sampleOrgId, other.id, { email }), { outcome: "taken" });
    assert.deepEqual(await store.people.getUser(other.id), other);
    await store.people.insertUser({ ...other, id: "elsewhere", orgId: "org-2", email, externalId });
    assert.deepEqual(await store.people.findUser(sampleOrgId, { email }), user);
    assert.deepEqual(await store.people.findUser(sampleOrgId, { externalId }), user);
    assert.equal((await store.people.findUser("org-2", { email }))?.id, "elsewhere");
    assert.equal(await store.people.findUser("org-3", { externalId }), null);
  });

  test("[H4] an org keeps an enabled admin; every other change of its own users is made", async (context) => {
    const { store } = await open(context);
    await store.people.insertUser(user);
    await store.people.insertUser(userOf({ id: "disabled", role: "admin", disabledAt: noon }));
    await store.people.insertUser(userOf({ id: "elsewhere", role: "admin", orgId: "org-2" }));
    for (const patch of [{ role: "member" }, { disabledAt: noon }] as const) {
      assert.deepEqual(await store.people.updateUser(sampleOrgId, ada, patch), { outcome: "last_admin" });
    }
    assert.deepEqual(await store.people.updateUser(sampleOrgId, ada, { name: "A" }), {
      outcome: "updated",
      user: { ...user, name: "A" },
    });
    assert.equal((await store.people.updateUser(sampleOrgId, "disabled", { disabledAt: null })).outcome, "updated");
    const demoted = { ...user, name: "A", role: "reader" };
    assert.deepEqual(await store.people.updateUser(sampleOrgId, ada, { role: "reader" }), {
      outcome: "updated",
      user: demoted,
    });
    assert.deepEqual(await store.people.getUser(ada), demoted);
    for (const id of ["elsewhere", "unknown"]) {
      assert.deepEqual(await store.people.updateUser(sampleOrgId, id, { name: "x" }), { outcome: "missing" });
    }
  });

  test("[H4] when the last two admins are demoted at once, from two processes, one stays", async (context) => {
    const stores = await openTwice(context, open);
    if (stores === null) return;
    const [one, two] = stores;
    await one.people.insertUser(userOf({ id: "a", role: "admin" }));
    await one.people.insertUser(userOf({ id: "b", role: "admin" }));
    const results = await Promise.all([
      one.people.updateUser(sampleOrgId, "a", { role: "member" }),
      two.people.updateUser(sampleOrgId, "b", { disabledAt: noon }),
    ]);
    assert.deepEqual(results.map(({ outcome }) => outcome).toSorted(), ["last_admin", "updated"]);
  });
}
