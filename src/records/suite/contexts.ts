/** What a store must do with the contexts of orgs (G1). */
import assert from "node:assert/strict";
import { test } from "node:test";
import { contextHash, type AgentContext, type ContextVersion } from "../../domain/context.ts";
import { ada, awkwardText, noon, sampleOrgId, type OpenRecordsForTest } from "./samples.ts";

/** The parts that these tests need. */
type Parts = "contexts";

const content: AgentContext = { id: "review", name: awkwardText, provider: "offline", index: "local" };

function versionOf(version: number, over: Partial<ContextVersion> = {}): ContextVersion {
  const at = noon + version;
  return { orgId: sampleOrgId, kind: "agent", id: "review", version, createdAt: at, createdBy: ada, content, ...over };
}

function factsOf({ content: stored, ...facts }: ContextVersion) {
  return { ...facts, isRetired: stored === null };
}

export function contextTests(open: OpenRecordsForTest<Parts>): void {
  test("[G1] every edit of a context is a version that never changes, and the newest one is current", async (context) => {
    const { store } = await open(context);
    const versions = [versionOf(1), versionOf(2, { content: { ...content, name: "two" } }), versionOf(3)];
    for (const version of versions) assert.deepEqual(await store.contexts.putVersion(version), { outcome: "stored" });
    const strangers = [versionOf(1, { orgId: "org-2" }), versionOf(1, { kind: "conversation" })];
    for (const each of strangers) await store.contexts.putVersion(each);
    const name = { orgId: sampleOrgId, kind: "agent", id: "review" } as const;
    for (const version of versions) {
      const found = await store.contexts.getVersion({ ...name, version: version.version });
      assert.deepEqual(found, version);
      // The hash in a manifest depends on the order of the fields too.
      assert.equal(contextHash(found.content ?? assert.fail()), contextHash(version.content ?? assert.fail()));
    }
    assert.equal(await store.contexts.getVersion({ ...name, version: 4 }), null);
    const newestFirst = versions.map(factsOf).toReversed();
    assert.deepEqual(await store.contexts.listVersions(name, { limit: 2 }), newestFirst.slice(0, 2));
    assert.deepEqual(await store.contexts.listVersions(name, { before: 2, limit: 2 }), newestFirst.slice(2));
    assert.deepEqual(
      await store.contexts.listNewest(sampleOrgId),
      [versionOf(3), strangers[1] ?? assert.fail()].map(factsOf),
    );
    assert.deepEqual(await store.contexts.listNewest("org-3"), []);
  });

  test("[G1] a retired context is not current, and its versions stay", async (context) => {
    const { store } = await open(context);
    for (const version of [versionOf(1), versionOf(2, { content: null })]) await store.contexts.putVersion(version);
    assert.deepEqual(await store.contexts.listCurrent(sampleOrgId), []);
    assert.deepEqual(
      (await store.contexts.listNewest(sampleOrgId)).map(({ version, isRetired }) => [version, isRetired]),
      [[2, true]],
    );
    await store.contexts.putVersion(versionOf(3));
    assert.deepEqual(await store.contexts.listCurrent(sampleOrgId), [versionOf(3)]);
  });

  test("[G1] when many edit a context at once, one edit is stored, and the others get the number of the newest version", async (context) => {
    const { store } = await open(context);
    for (const version of [1, 2]) {
      const tries = await Promise.all(
        [1, 2, 3].map((at) => store.contexts.putVersion(versionOf(version, { createdAt: at }))),
      );
      assert.equal(tries.filter(({ outcome }) => outcome === "stored").length, 1);
      for (const result of tries) if (result.outcome === "changed") assert.equal(result.newest, version);
    }
    assert.deepEqual(await store.contexts.putVersion(versionOf(5)), { outcome: "changed", newest: 2 });
    assert.deepEqual(await store.contexts.putVersion(versionOf(1, { id: "other", version: 2 })), {
      outcome: "changed",
      newest: 0,
    });
  });
}
