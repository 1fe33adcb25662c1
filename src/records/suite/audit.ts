/** What a store must do with the audit log. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { AuditEntry } from "../../domain/audit.ts";
import { ada, noon, sampleOrgId, type OpenRecordsForTest } from "./samples.ts";

/** The parts that these tests need. */
type Parts = "audit";

export function auditTests(open: OpenRecordsForTest<Parts>): void {
  const entry = (id: string, at: number, over: Partial<AuditEntry> = {}): AuditEntry => {
    const who = { orgId: sampleOrgId, userId: ada, keyId: "key-1", requestId: null };
    return { id, at, ...who, action: "key.create", targetId: "key-2", outcome: "done", facts: { role: "x" }, ...over };
  };

  test("[H4] the audit log returns what was written, newest first, a page at a time, until it is dropped", async (context) => {
    const { store } = await open(context);
    const anonymous = { userId: null, keyId: null, targetId: null, outcome: "forbidden", facts: {} } as const;
    const entries = [entry("c", noon + 1), entry("b", noon), entry("a", noon, anonymous)];
    for (const each of [...entries, entry("x", noon, { orgId: "org-2" })]) await store.audit.insert(each);
    const first = await store.audit.list({ orgId: sampleOrgId, limit: 2 });
    assert.deepEqual(first, entries.slice(0, 2));
    assert.deepEqual(
      await store.audit.list({ orgId: sampleOrgId, limit: 2, after: first[1] ?? assert.fail() }),
      entries.slice(2),
    );
    const found = async (query: object): Promise<string[]> =>
      (await store.audit.list({ orgId: sampleOrgId, limit: 9, ...query })).map(({ id }) => id);
    assert.deepEqual(await found({ userId: ada }), ["c", "b"]);
    assert.deepEqual(await found({ action: "key.revoke" }), []);
    assert.deepEqual(await found({ from: noon + 1 }), ["c"]);
    assert.deepEqual(await found({ until: noon + 1, userId: ada }), ["b"]);
    assert.deepEqual(await found({ from: noon, until: noon }), []);
    assert.deepEqual(await found({ targetId: "key-2", action: "key.create" }), ["c", "b"]);
    // The oldest entries of all orgs are dropped first.
    assert.equal(await store.audit.drop(noon + 1, 1), 1);
    assert.deepEqual(await found({}), ["c", "b"]);
    assert.equal(await store.audit.drop(noon + 1, 9), 2);
    assert.deepEqual(await found({}), ["c"]);
  });
}
