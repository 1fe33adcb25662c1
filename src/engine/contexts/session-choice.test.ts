/** What a person chose for a session counts for every later turn (S9, G2). */
import assert from "node:assert/strict";
import { test } from "node:test";
import { hasCode } from "../../../testing/refusals.ts";
import { testEngine, type TestEngine, type TestEngineOptions } from "../../../testing/engine.ts";
import { builtInModes } from "../../domain/context.ts";
import type { FinishedTurn } from "../../domain/turn.ts";
import { scriptedProvider } from "../../providers/scripted/scripted.ts";

const conversation = {
  bootPrompt: "Be careful.",
  model: null,
  history: null,
  retrieval: "off",
  toolResend: "always",
  tools: [],
  modes: [...builtInModes],
  settings: {},
} as const;

const twoProviders = (): TestEngineOptions => ({
  provider: scriptedProvider({ name: "openai", model: "gpt-5.1", remembers: true }),
  otherProviders: [scriptedProvider({ name: "anthropic", model: "claude-opus-5" })],
  agentContexts: [
    { id: "default", name: "Default", provider: "openai", index: "local" },
    { id: "careful", name: "Careful", provider: "anthropic", index: "local" },
  ],
  conversationContexts: [
    { ...conversation, tools: [], modes: [...builtInModes], id: "default", name: "Default" },
    {
      ...conversation,
      tools: [],
      modes: [...builtInModes],
      id: "brief",
      name: "Brief",
      bootPrompt: "Be brief.",
      model: "gpt-mini",
      settings: { temperature: 0.5 },
    },
  ],
});

const ranWith = ({ provider, model, manifest }: FinishedTurn) => [`${provider}/${model}`, manifest.settings];

async function begun({ ask }: TestEngine): Promise<string> {
  return (await ask("one")).sessionId;
}

test("[S9] [G3] a model and settings that are set count for every later turn until they are set again", async (t) => {
  const world = await testEngine(t, twoProviders());
  const { engine, caller, ask } = world;
  const sessionId = await begun(world);
  const settings = { reasoningEffort: "high", temperature: 0.2 } as const;
  const set = await engine.sessions.update(caller, sessionId, { model: "claude-sonnet-5", settings });
  assert.deepEqual([set.model, set.agentContextId, set.settings], ["claude-sonnet-5", "default", settings]);
  for (const text of ["two", "three"]) {
    assert.deepEqual(ranWith(await ask(text, { sessionId })), ["anthropic/claude-sonnet-5", settings]);
  }
  const once = await ask("four", { sessionId, model: "gpt-6.2-sol", settings: { temperature: 1 } });
  assert.deepEqual(ranWith(once), ["openai/gpt-6.2-sol", { reasoningEffort: "high", temperature: 1 }]);
  assert.deepEqual(ranWith(await ask("five", { sessionId })), ["anthropic/claude-sonnet-5", settings]);
  await engine.sessions.update(caller, sessionId, { model: null, settings: {} });
  assert.deepEqual(ranWith(await ask("six", { sessionId })), ["openai/gpt-5.1", {}]);
  await assert.rejects(
    engine.sessions.update(caller, sessionId, { model: "nothing/x" }),
    hasCode("provider_unknown", "anthropic"),
  );
});

test("[G2] [S9] [E6] choosing a context clears the model and settings chosen before, and its prompt starts a new chain", async (t) => {
  const world = await testEngine(t, twoProviders());
  const { engine, caller, ask } = world;
  const sessionId = await begun(world);
  const update = engine.sessions.update.bind(null, caller, sessionId);
  await update({ model: "gpt-6.2-sol", settings: { temperature: 1 } });
  const once = await ask("two", { sessionId, conversationContextId: "brief" });
  assert.deepEqual(ranWith(once), ["openai/gpt-mini", { temperature: 0.5 }]);
  assert.deepEqual(ranWith(await ask("three", { sessionId })), ["openai/gpt-6.2-sol", { temperature: 1 }]);
  const same = await update({ conversationContextId: "default" });
  assert.equal(same.model, "gpt-6.2-sol");

  const chosen = await update({ model: "context:brief" });
  assert.deepEqual([chosen.conversationContextId, chosen.model, chosen.settings], ["brief", null, {}]);
  const next = await ask("four", { sessionId });
  assert.deepEqual(ranWith(next), ["openai/gpt-mini", { temperature: 0.5 }]);
  await update({ conversationContextId: "default", model: "gpt-mini" });
  const after = await ask("and", { sessionId });
  assert.deepEqual(
    after.warnings.map(({ code }) => code),
    ["prompt_changed", "chain_rebuilt"],
  );
  const both = await update({ agentContextId: "careful", model: "gpt-5.1", settings: { maxSteps: 3 } });
  // The words name a known model of another provider, but the context was named beside them.
  assert.deepEqual([both.model, both.settings], ["careful/gpt-5.1", { maxSteps: 3 }]);
  assert.equal((await ask("five", { sessionId })).provider, "anthropic");
  await assert.rejects(update({ conversationContextId: "none" }), hasCode("context_unknown", '"brief"'));
});

test("[S9] [G2] [T6] a new session keeps what its first request chose, and forks inherit the choice", async (t) => {
  const { engine, caller, ask } = await testEngine(t, twoProviders());
  const first = await ask("one", { model: "anthropic/claude-sonnet-5", settings: { temperature: 1 } });
  const kept = ["anthropic/claude-sonnet-5", { temperature: 1 }];
  assert.deepEqual(ranWith(await ask("two", { sessionId: first.sessionId })), kept);
  const fork = await engine.sessions.create(caller, { forkOf: first.id });
  assert.deepEqual(ranWith(await ask("three", { sessionId: fork.id })), kept);
  const forked = await ask("four", { fork: { turnId: first.id } });
  assert.deepEqual(ranWith(await ask("five", { sessionId: forked.sessionId })), kept);
  const other = await ask("six", { fork: { turnId: first.id }, conversationContextId: "brief" });
  assert.deepEqual(ranWith(await ask("seven", { sessionId: other.sessionId })), [
    "openai/gpt-mini",
    { temperature: 0.5 },
  ]);
  const empty = await engine.sessions.create(caller, { model: "gpt-6.2-sol" });
  assert.equal((await ask("eight", { sessionId: empty.id })).model, "gpt-6.2-sol");
});

test("[T7] [S9] a rerun has the model and settings of its turn, whatever was chosen since, and chooses nothing", async (t) => {
  const world = await testEngine(t, twoProviders());
  const { engine, caller, ask } = world;
  const sessionId = await begun(world);
  await engine.sessions.update(caller, sessionId, { model: "gpt-6.2-sol", settings: { temperature: 1 } });
  const again = await ask("", { sessionId, retry: true });
  assert.deepEqual(ranWith(again), ["openai/gpt-5.1", {}]);
  const beside = await ask("", { rerun: { turnId: again.id, asFork: true } });
  assert.deepEqual(ranWith(beside), ["openai/gpt-5.1", {}]);
  for (const id of [sessionId, beside.sessionId]) {
    assert.deepEqual(ranWith(await ask("next", { sessionId: id })), ["openai/gpt-6.2-sol", { temperature: 1 }]);
  }
});
