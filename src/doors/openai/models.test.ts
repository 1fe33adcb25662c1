/** How a model is read by its name (O4). */
import assert from "node:assert/strict";
import { test } from "node:test";
import { scriptedProvider } from "../../providers/scripted/scripted.ts";
import { testOpenAi, type OpenAiTest } from "../../../testing/openai-door.ts";

const listing = (name: string, ids: readonly string[]) =>
  Object.assign(scriptedProvider({ name, model: `${name}-1` }), {
    models: async () => ids.map((id) => ({ id, contextTokens: null })),
  });
const otherProviders = () => [listing("fake", ["Qwen/Q3", "m1", "both"]), listing("other", ["both", "fake/m1"])];

/** Reads a model at exactly this address. The SDK would encode its slashes. */
async function modelAt({ door, admin }: OpenAiTest, path: string): Promise<unknown> {
  const headers = { authorization: `Bearer ${admin.key}` };
  const response = await door.fetch(new Request(`http://localhost:4870/v1/models/${path}`, { headers }));
  const answer = (await response.json()) as { id?: string; error?: { code: string } };
  return answer.id ?? [response.status, answer.error?.code];
}

test("[O4] each model that is listed can be read, with its slashes encoded or not", async (t) => {
  const tested = await testOpenAi(t, { otherProviders: otherProviders() });
  const ids = (await tested.openai.models.list()).data.map(({ id }) => id);
  assert.ok(ids.includes("fake/Qwen/Q3"), ids.join());
  for (const id of ids) {
    assert.equal((await tested.openai.models.retrieve(id)).id, id);
    assert.equal(await modelAt(tested, id), id);
  }
  assert.deepEqual(await modelAt(tested, "fake/Qwen/none"), [404, "model_not_found"]);
});

test("[O4] a model is read by its name without the provider too, unless several providers have it", async (t) => {
  const tested = await testOpenAi(t, { otherProviders: otherProviders() });
  const { model } = await tested.openai.chat.completions.create({
    model: "scripted/scripted-1",
    messages: [{ role: "user", content: "hi" }],
  });
  assert.equal((await tested.openai.models.retrieve(model)).id, "scripted/scripted-1");
  assert.equal(await modelAt(tested, "Qwen/Q3"), "fake/Qwen/Q3");
  assert.equal(await modelAt(tested, "m1"), "fake/m1");
  assert.equal(await modelAt(tested, "fake/m1"), "fake/m1", "a whole name counts before one without its provider");
  assert.deepEqual(await modelAt(tested, "both"), [404, "model_not_found"]);
  assert.deepEqual(await modelAt(tested, "default"), [404, "model_not_found"]);
});
