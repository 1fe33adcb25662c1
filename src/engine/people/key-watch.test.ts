import assert from "node:assert/strict";
import { test } from "node:test";
import { testParts } from "../../../testing/engine.ts";
import { addUser } from "../../../testing/people.ts";
import { localOrgId } from "../../domain/caller.ts";
import { AptoveError } from "../../domain/errors.ts";
import { newId } from "../../domain/ids.ts";
import { memoryRecords } from "../../records/memory/memory-records.ts";
import { identifiedCaller } from "./identified-caller.ts";
import { KeyWatch } from "./key-watch.ts";

test("[H4] an unreachable store is reported once, until it works again, and ends no connection", async (t) => {
  const reports: string[] = [];
  const records = memoryRecords();
  let isAway = true;
  records.keys.find = async () => {
    if (isAway) throw new AptoveError("storage_failed", "the database is away");
    return [];
  };
  const watch = new KeyWatch(testParts({ records, report: (message) => void reports.push(message) }));
  t.after(() => watch.close());
  const caller = { orgId: "org", userId: "user", role: "member" } as const;
  watch.add("secret", { caller, onEnd: () => assert.fail("it ended") });
  for (let n = 0; n < 3; n += 1) await watch.look();
  const fault = "whether keys of open connections are still valid could not be read";
  assert.deepEqual(reports, [fault]);
  isAway = false;
  await watch.look();
  isAway = true;
  await watch.look();
  assert.deepEqual(reports, [fault, `a fault is over: ${fault}`, fault]);
});

test("[H4] a connection with a token ends when the identity provider puts its user into another org", async (t) => {
  const records = memoryRecords();
  const otherOrgId = newId();
  let orgId = localOrgId;
  const identify = async () =>
    ({ orgId, by: { externalId: "ada" }, name: "Ada", role: "member", mayBeAdded: true }) as const;
  const deps = testParts({ records, identities: { identify } });
  for (const id of [localOrgId, otherOrgId]) await addUser(records, { orgId: id, role: "admin" });
  const watch = new KeyWatch(deps);
  t.after(() => watch.close());
  const caller = (await identifiedCaller(deps, "a.token")) ?? assert.fail();
  let ends = 0;
  watch.add("a.token", { caller, onEnd: () => (ends += 1) });
  await watch.look();
  assert.equal(ends, 0);
  orgId = otherOrgId;
  await watch.look();
  assert.equal(ends, 1);
});

test("[H4] a connection that begins while another of the same key leaves is watched", async (t) => {
  const records = memoryRecords();
  const identify = async () =>
    ({ orgId: localOrgId, by: { externalId: "ada" }, name: "Ada", role, mayBeAdded: true }) as const;
  let role: "admin" | "member" = "member";
  const deps = testParts({ records, identities: { identify } });
  await addUser(records, { orgId: localOrgId, role: "admin" });
  const watch = new KeyWatch(deps);
  t.after(() => watch.close());
  const caller = (await identifiedCaller(deps, "a.token")) ?? assert.fail();
  const [asked, answered] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const list = records.keys.list.bind(records.keys);
  records.keys.list = async (query) => {
    asked.resolve();
    await answered.promise;
    return await list(query);
  };
  const leave = watch.add("a.token", {
    caller: { ...caller, workspaceId: "device:phone" },
    deviceId: "phone",
    onEnd: () => assert.fail("a connection that has left is ended"),
  });
  const looking = watch.look();
  await asked.promise;
  // The check of the first connection waits for the store.
  await new Promise((resolve) => setImmediate(resolve));
  leave();
  let ends = 0;
  watch.add("a.token", { caller, onEnd: () => (ends += 1) });
  answered.resolve();
  await looking;
  role = "admin";
  await watch.look();
  assert.equal(ends, 1);
});
