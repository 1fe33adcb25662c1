/** Contexts as records (G1, G2): edits in versions, and what past and later turns say of them. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { memoryBlobs } from "../../blobs/memory/memory-blobs.ts";
import type { Caller } from "../../domain/caller.ts";
import { contextHash } from "../../domain/context.ts";
import { newId } from "../../domain/ids.ts";
import { memoryRecords } from "../../records/memory/memory-records.ts";
import { alice, testEngine } from "../../../testing/engine.ts";

const conversation = { kind: "conversation", id: "review" } as const;

test("[G1] [E6] [D1] an edit counts at the next turn on every server, and no past turn says anything else", async (t) => {
  const shared = { records: memoryRecords(), blobs: memoryBlobs() };
  const one = await testEngine(t, shared);
  const other = await testEngine(t, shared);
  const entry = { boot_prompt: "Find faults.", settings: { temperature: 0.2 } };
  assert.equal((await one.engine.contexts.put(alice, { ...conversation, entry })).version, 1);
  const first = await other.ask("look", { conversationContextId: "review" });
  const again = { entry: { boot_prompt: "Praise." }, expected: 1 };
  const second = await one.engine.contexts.put(alice, { ...conversation, ...again });
  const next = await other.ask("look again", { sessionId: first.sessionId });
  assert.deepEqual(
    [first, next].map(({ manifest }) => manifest.conversationContext.version),
    [1, 2],
  );
  assert.deepEqual(
    next.warnings.map(({ code }) => code),
    ["prompt_changed", "chain_rebuilt"],
  );
  const diff = await one.engine.explain.diff(alice, { a: first.id, b: next.id });
  assert.deepEqual([diff.same.prompt, diff.same.conversationContext, diff.same.agentContext], [false, false, true]);
  for (const [turn, prompt] of [
    [first, "Find faults."],
    [next, "Praise."],
  ] as const) {
    const { version = 0, hash } = turn.manifest.conversationContext;
    const stored = await one.engine.contexts.get(alice, { ...conversation, version });
    assert.equal(contextHash(stored.content ?? assert.fail()), hash);
    assert.ok((await (await one.engine.turns.read(alice, turn.id)).prompt())?.startsWith(prompt));
  }
  assert.deepEqual(await one.engine.contexts.get(alice, conversation), second);
  const history = await one.engine.contexts.versions(alice, conversation, {});
  assert.deepEqual(
    history.map(({ version, createdBy, isRetired }) => [version, createdBy, isRetired]),
    [
      [2, alice.userId, false],
      [1, alice.userId, false],
    ],
  );
});

test("[G1] [G2] a record stands over the configured context of its id, and retired it leaves that or nothing", async (t) => {
  const { engine, ask } = await testEngine(t, { conversation: { name: "Configured" } });
  const nameOf = async (): Promise<string | undefined> =>
    (await engine.contexts.known(alice, null)).conversationContexts.find(({ id }) => id === "default")?.name;
  const standard = { kind: "conversation", id: "default" } as const;
  assert.deepEqual(await engine.contexts.versions(alice, standard, {}), [], "it was never edited");
  await engine.contexts.put(alice, { ...standard, entry: { name: "Recorded" } });
  await engine.contexts.put(alice, { ...conversation, entry: {} });
  assert.equal(await nameOf(), "Recorded");
  const { sessionId } = await ask("look", { conversationContextId: "review" });
  for (const each of [standard, conversation]) await engine.contexts.retire(alice, each);
  assert.equal(await nameOf(), "Configured");
  await assert.rejects(ask("more", { sessionId }), {
    code: "context_unknown",
    detail: 'there is no conversation context "review"; known are: "default"',
  });
  assert.equal((await ask("more", { sessionId, conversationContextId: "default" })).status, "completed");
  await assert.rejects(engine.contexts.retire(alice, conversation), { code: "not_found" });
  assert.equal((await engine.contexts.put(alice, { ...conversation, entry: {} })).version, 3);
  assert.equal((await ask("at last", { sessionId })).manifest.conversationContext.version, 3);
});

test("[G1] [E8] a context is what config.toml takes, and names what the configuration has", async (t) => {
  const { engine } = await testEngine(t);
  const faults: [kind: "agent" | "conversation", entry: Record<string, unknown>, detail: RegExp][] = [
    ["agent", { provider: "missing" }, /^provider: "missing" is not configured; configured are: "scripted"$/],
    ["agent", { api_key: "sk-1" }, /^api_key is not known in such a context$/],
    ["conversation", { provider: "scripted" }, /^provider is not known in such a context$/],
    ["conversation", { boot_promt: "x" }, /^boot_promt is not known; did you mean "boot_prompt"\?$/],
    ["conversation", { settings: { temperature: 9 }, history: 1 }, /^settings\.temperature must .*; history must be/],
    ["conversation", { boot_prompt: "x".repeat(200_000) }, /the limit is 131072$/],
  ];
  for (const [kind, entry, detail] of faults) {
    const put = engine.contexts.put(alice, { kind, id: "x", entry });
    await assert.rejects(put, (error) => {
      const { code, detail: message } = error as { code: string; detail: string };
      assert.equal(code, "context_invalid");
      assert.match(message, detail);
      return true;
    });
  }
  assert.equal((await engine.contexts.list(alice)).length, 2);
});

test("[G1] [H4] only admins edit, only from the version that they saw, and no other org sees it", async (t) => {
  const { engine } = await testEngine(t);
  const member: Caller = { ...alice, userId: newId(), role: "member" };
  const stranger: Caller = { ...alice, orgId: newId() };
  const edit = { ...conversation, entry: {} };
  await assert.rejects(engine.contexts.put(member, edit), { code: "forbidden" });
  const edits = await Promise.allSettled([1, 2, 3].map(() => engine.contexts.put(alice, edit)));
  assert.equal(edits.filter(({ status }) => status === "fulfilled").length, 1);
  await assert.rejects(engine.contexts.put(alice, { ...edit, expected: 7 }), {
    code: "context_changed",
    facts: { version: 1 },
  });
  await assert.rejects(engine.contexts.retire(alice, { ...conversation, expected: 2 }), { code: "context_changed" });
  await assert.rejects(engine.contexts.retire(member, conversation), { code: "forbidden" });
  assert.equal((await engine.contexts.get(member, conversation)).version, 1);
  for (const seen of [
    engine.contexts.get(stranger, conversation),
    engine.contexts.versions(stranger, conversation, {}),
  ]) {
    await assert.rejects(seen, { code: "not_found" });
  }
});
