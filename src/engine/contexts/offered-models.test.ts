/** The models that the providers offer, and the words that name them (G3). */
import assert from "node:assert/strict";
import { test } from "node:test";
import { testEngine } from "../../../testing/engine.ts";
import { hasCode } from "../../../testing/refusals.ts";
import { builtInModes } from "../../domain/context.ts";
import { scriptedProvider } from "../../providers/scripted/scripted.ts";

const conversation = {
  name: "",
  bootPrompt: "Be careful.",
  history: null,
  retrieval: "off",
  toolResend: "always",
} as const;
const rest = { tools: [], modes: [...builtInModes], settings: {} };

test("[G3] a request names a model, a model of another provider, or a context; what is unknown is refused with the known ones", async (t) => {
  const listing = Object.assign(scriptedProvider({ name: "anthropic", model: "claude-opus-5" }), {
    models: async () => [{ id: "claude-sonnet-5", contextTokens: 77 }],
  });
  const failing = Object.assign(scriptedProvider({ name: "openai", model: "gpt-5.1" }), {
    models: () => Promise.reject(new Error("no list")),
  });
  const { engine, caller, ask, reports } = await testEngine(t, {
    provider: failing,
    otherProviders: [listing],
    agentContexts: [
      { id: "default", name: "Default", provider: "openai", index: "local" },
      { id: "review", name: "Review", provider: "anthropic", index: "local" },
    ],
    conversationContexts: [
      { ...conversation, id: "default", model: null, ...rest },
      { ...conversation, id: "brief", model: "gpt-mini", ...rest },
    ],
  });
  const cases = [
    [undefined, "openai", "gpt-5.1"],
    ["gpt-6.2-sol", "openai", "gpt-6.2-sol"],
    ["claude-sonnet-5", "anthropic", "claude-sonnet-5"],
    ["anthropic/claude-sonnet-5", "anthropic", "claude-sonnet-5"],
    ["context:review", "anthropic", "claude-opus-5"],
    ["context:brief", "openai", "gpt-mini"],
  ] as const;
  for (const [model, provider, name] of cases) {
    const turn = await ask("hi", model === undefined ? {} : { model });
    assert.deepEqual([turn.status, turn.provider, turn.model], ["completed", provider, name], `${model}`);
  }
  await assert.rejects(ask("hi", { model: "context:none" }), hasCode("context_unknown", "review"));
  const models = await engine.contexts.models(caller, null);
  const shown = models.map(({ provider, model, contextTokens }) => [`${provider}/${model}`, contextTokens]);
  assert.deepEqual(
    shown.filter(([name]) => String(name).startsWith("anthropic")),
    [
      ["anthropic/claude-opus-5", 1_000_000],
      ["anthropic/claude-sonnet-5", 77],
    ],
  );
  assert.ok(shown.some(([name]) => name === "openai/gpt-6.2-sol"));
  assert.equal(models.find(({ model }) => model === "claude-sonnet-5")?.price?.input, 2);
  assert.ok(reports.some((report) => report.includes('"openai" could not be listed')));
});

test("[G3] [F11] a model in this process answers for no other, and has the price 0 in the list, in an estimate and in what a turn has cost", async (t) => {
  const provider = Object.assign(scriptedProvider(), { isFree: true as const });
  const { engine, caller, ask } = await testEngine(t, { provider });
  const [model] = await engine.contexts.models(caller, null);
  assert.deepEqual(model?.price, { input: 0, cached: 0, output: 0 });
  const { price } = await engine.turns.estimate(caller, { instruction: "hi" });
  assert.deepEqual(price && [price.inputMinUsd, price.inputMaxUsd, price.outputUsdPerThousand], [0, 0, 0]);
  const turn = await ask("hi");
  assert.equal(turn.run.usage.costUsd, 0);
  await assert.rejects(ask("hi", { model: "gpt-9" }), hasCode("provider_unknown", "aptove login"));
});
