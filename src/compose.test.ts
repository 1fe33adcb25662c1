import assert from "node:assert/strict";
import { test } from "node:test";
import { temporaryFolder } from "../testing/temporary-folder.ts";
import { createAptove } from "./compose.ts";
import { keyedProviders } from "./configuration/configured-providers.ts";
import { modelInfo } from "./domain/models.ts";

test("[W7] [L3] every provider that the configuration makes callable is there by its name, and no other", async (t) => {
  const { engine } = await createAptove({
    dataDir: await temporaryFolder(t),
    env: { OPENAI_API_KEY: "sk-1", GEMINI_API_KEY: "g", APTOVE_PROVIDER: "work" },
    overrides: {
      providers: {
        compatible: {
          work: { base_url: "http://127.0.0.1:1/v1", model: "m" },
          half: { base_url: "http://127.0.0.1:1/v1" },
        },
      },
      agent_contexts: { claude: { provider: "anthropic" } },
    },
  });
  t.after(() => engine.close());
  const found = await engine.contexts.providers();
  assert.deepEqual(
    found.map(({ name, remembers }) => [name, remembers]),
    [
      ["offline", false],
      ["openai", true],
      ["google", false],
      ["work", false],
    ],
  );
  const owner = await engine.keys.owner();
  await assert.rejects(engine.turns.run(owner, { instruction: "x", agentContextId: "claude" }), (error) => {
    assert.match(
      String(error),
      /names the provider "anthropic", which has no key: set ANTHROPIC_API_KEY, or providers\.anthropic\.api_key/,
    );
    return true;
  });
});

test("[C4] the window and the price of every default model are known", async (t) => {
  const env = Object.fromEntries(
    Object.values(keyedProviders).map(({ keyVariables: [variable] }) => [variable, "key"]),
  );
  const { engine } = await createAptove({ dataDir: await temporaryFolder(t), env });
  t.after(() => engine.close());
  const hosted = (await engine.contexts.providers()).filter(({ name }) => name !== "offline");
  assert.deepEqual(
    hosted.map(({ name }) => name),
    Object.keys(keyedProviders),
  );
  for (const { defaultModel } of hosted) assert.notEqual(modelInfo(defaultModel), null, defaultModel);
});
