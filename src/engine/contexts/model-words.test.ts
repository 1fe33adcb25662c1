/** What a model's name means, in the same words on every door (G3). */
import assert from "node:assert/strict";
import { test } from "node:test";
import { testEngine } from "../../../testing/engine.ts";
import { scriptedProvider } from "../../providers/scripted/scripted.ts";
import { readModelWords, withProviderContexts } from "./model-words.ts";

const agent = (id: string, provider = id) => ({ id, name: id, provider, index: "local" as const });

test("[G3] a model is named alone, with its provider, with an agent context, or by a context", () => {
  const current = agent("default", "openai");
  const agentContexts = [current, agent("anthropic"), agent("second", "openai")];
  const known = { agentContexts, conversationContexts: [{ id: "default" }, { id: "review" }], current, isNamed: false };
  const cases: [words: string, meaning: unknown][] = [
    ["gpt-5.1", { model: "gpt-5.1" }],
    ["claude-sonnet-5", { agentContextId: "anthropic", model: "claude-sonnet-5" }],
    ["anthropic/claude-new", { agentContextId: "anthropic", model: "claude-new" }],
    ["openai/gpt-new", { agentContextId: "default", model: "gpt-new" }],
    ["second/gpt-5.1", { agentContextId: "second", model: "gpt-5.1" }],
    ["gemini-3.8-flash", { model: "gemini-3.8-flash" }],
    ["context:review", { conversationContextId: "review" }],
    ["context:anthropic", { agentContextId: "anthropic" }],
  ];
  for (const [words, meaning] of cases) assert.deepEqual(readModelWords(words, known), meaning, words);
  assert.throws(() => readModelWords("context:nothing", known), /there is no context "nothing"; known are: .*"review"/);
  assert.throws(() => readModelWords("antropic/claude-sonnet-5", known), /known are: .*"anthropic"/);
  // The request names the agent context: a name without a provider stays with it.
  assert.deepEqual(readModelWords("claude-sonnet-5", { ...known, isNamed: true }), { model: "claude-sonnet-5" });
});

test("[G3] names with a slash, and those of other makers, are the business of a compatible server", () => {
  const current = agent("default", "router");
  const known = { agentContexts: [current, agent("anthropic")], conversationContexts: [], current, isNamed: false };
  for (const model of ["meta/llama", "claude-sonnet-5", "x"]) assert.deepEqual(readModelWords(model, known), { model });
  const google = { ...known, current: agent("default", "google") };
  assert.deepEqual(readModelWords("models/gemini-3.8-flash", google), { model: "models/gemini-3.8-flash" });
});

test("[G3] each configured provider has an agent context; what is configured is not replaced", () => {
  const providers = { keys: () => ["offline", "openai", "anthropic", "mine"].values(), get: () => undefined };
  const agentContexts = [agent("default", "openai"), agent("mine", "anthropic")];
  const added = withProviderContexts({ agentContexts, providers }).agentContexts;
  assert.deepEqual(added, agentContexts);
  const other = withProviderContexts({ agentContexts: [agent("default", "openai")], providers }).agentContexts;
  assert.deepEqual(
    other.map(({ id, provider, index }) => [id, provider, index]),
    [
      ["default", "openai", "local"],
      ["anthropic", "anthropic", "local"],
      ["mine", "mine", "local"],
    ],
  );
});

test("[G3] [C5] a session changes to another provider by a model's name, and stays usable", async (t) => {
  const other = scriptedProvider({ name: "other", script: () => "from the other" });
  const { ask } = await testEngine(t, { otherProviders: [other] });
  const first = await ask("one");
  const second = await ask("two", { sessionId: first.sessionId, model: "other/m-1" });
  assert.deepEqual([second.provider, second.model], ["other", "m-1"]);
  const third = await ask("three", { sessionId: first.sessionId });
  assert.equal(third.provider, first.provider);
  const fresh = await ask("four", { model: "other/m-1" });
  const on = await ask("five", { sessionId: fresh.sessionId });
  assert.equal(on.provider, "other");
});
