import assert from "node:assert/strict";
import { test } from "node:test";
import { faultOf, load, type Layers } from "../../testing/configuration.ts";
import { temporaryFolder } from "../../testing/temporary-folder.ts";
import { lazyProviders } from "../compose/lazy-providers.ts";
import { effectiveValues } from "./config-text.ts";
import { loadConfiguration } from "./configuration.ts";
import { providerFault } from "./configured-providers.ts";

test("[W7] [L3] the first provider that can be called is the default, and an explicit provider overrides it", async (t) => {
  const provider = async (layers: Layers) => (await load(t, layers)).configuration.agentContexts[0]?.provider;
  const env = { OPENAI_API_KEY: "sk-1" };
  const server = '[providers.compatible.ollama]\nbase_url = "http://127.0.0.1:11434/v1"\n';
  const file = `${server}model = "qwen3-coder"`;
  const cases: [Layers, string][] = [
    [{}, "offline"],
    [{ env }, "openai"],
    [{ env: { OPENAI_API_KEY: "" } }, "offline"],
    [{ file: 'providers.openai.api_key = "sk-2"' }, "openai"],
    [{ env: { ANTHROPIC_API_KEY: "a" } }, "anthropic"],
    [{ env: { GEMINI_API_KEY: "g" } }, "google"],
    [{ env: { GEMINI_API_KEY: "g", ANTHROPIC_API_KEY: "a" } }, "anthropic"],
    [{ env: { ANTHROPIC_API_KEY: "a", ...env } }, "openai"],
    [{ file }, "ollama"],
    [{ file: server }, "offline"],
    [{ file, env }, "openai"],
    [{ env, file: 'provider = "offline"' }, "offline"],
    [{ env: { ...env, APTOVE_PROVIDER: "offline" } }, "offline"],
    [{ env, file: `provider = "ollama"\n${file}` }, "ollama"],
  ];
  for (const [layers, expected] of cases) assert.equal(await provider(layers), expected, JSON.stringify(layers));
});

test("[W7] Google's key is read from either of its two variables, GOOGLE_API_KEY first", async (t) => {
  const both = await load(t, { env: { GEMINI_API_KEY: "two", GOOGLE_API_KEY: "one" } });
  assert.equal(both.configuration.providers.google.apiKey, "one");
  const second = await load(t, { env: { GEMINI_API_KEY: "two\n", GOOGLE_API_KEY: "" } });
  assert.equal(second.configuration.providers.google.apiKey, "two");
  assert.equal(second.sources.get("providers.google.api_key")?.place, "GEMINI_API_KEY");
  const named = await load(t, { file: 'providers.google.api_key_env = "MINE"', env: { GOOGLE_API_KEY: "one" } });
  assert.equal(named.configuration.providers.google.apiKey, null);
});

test("[W7] [E8] a compatible server is a provider by its name, and its key comes from the variable that it names", async (t) => {
  const file = [
    "[providers.compatible.work]",
    'base_url = "https://llm.example.org/v1"',
    'model = "m"',
    'api_key_env = "WORK_KEY"',
    "[agent_contexts.office]",
    'provider = "work"',
  ].join("\n");
  const loaded = await load(t, { file, env: { WORK_KEY: "sk-very-secret-key-of-work" } });
  const { providers, agentContexts } = loaded.configuration;
  assert.deepEqual(providers.compatible, [
    {
      id: "work",
      baseUrl: "https://llm.example.org/v1",
      model: "m",
      contextTokens: {},
      apiKey: "sk-very-secret-key-of-work",
      apiKeyEnv: "WORK_KEY",
    },
  ]);
  assert.equal(agentContexts.find(({ id }) => id === "office")?.provider, "work");
  const shown = effectiveValues(loaded).find(({ key }) => key === "providers.compatible.work.api_key");
  assert.equal(shown?.source, "WORK_KEY");
  assert.ok(!shown?.value?.includes("very-secret"));
});

test("[W7] a provider that is not configured is refused where it is named, with a list of the known ones", async (t) => {
  const detail = await faultOf(t, { file: 'agent_contexts.fast.provider = "olama"\nproviders.compatible.ollama = {}' });
  assert.match(detail, /config.toml: agent_contexts.fast.provider must be .* or "google" or "ollama"$/);
  assert.match(
    await faultOf(t, { overrides: { provider: "mine" } }),
    /^the option `overrides`: provider must be "offline" or/,
  );
  const dataDir = await temporaryFolder(t);
  const brought = loadConfiguration({ dataDir, env: {}, overrides: { provider: "mine" }, providers: ["mine"] });
  assert.equal(brought.configuration.provider, "mine");
  // Which layer configures a server does not count, only that one does.
  const { configuration } = await load(t, {
    env: { APTOVE_PROVIDER: "ollama" },
    overrides: { providers: { compatible: { ollama: {} } } },
  });
  assert.equal(configuration.provider, "ollama");
  for (const name of ["openai", "offline"]) {
    const taken = await faultOf(t, { file: `[providers.compatible.${name}]\nmodel = "m"` });
    assert.match(taken, new RegExp(`providers.compatible.${name} is the name of a built-in provider`));
  }
});

test("[W7] the reason why a provider cannot be called comes with its fix", async (t) => {
  const file = [
    "[providers.compatible.a]",
    'model = "m"',
    "[providers.compatible.b]",
    'base_url = "http://b/v1"',
    "[providers.compatible.c]",
    'base_url = "http://c/v1"',
    'model = "m"',
    'api_key_env = "C_KEY"',
  ].join("\n");
  const { providers } = (await load(t, { file, env: { OPENAI_API_KEY: "k" } })).configuration;
  assert.equal(providerFault(providers, "openai"), null);
  assert.equal(providerFault(providers, "offline"), null);
  assert.match(providerFault(providers, "anthropic") ?? "", /no key: set ANTHROPIC_API_KEY, or providers.anthropic/);
  assert.match(providerFault(providers, "a") ?? "", /no address: set providers.compatible.a.base_url/);
  assert.match(providerFault(providers, "b") ?? "", /no model: set providers.compatible.b.model/);
  assert.match(providerFault(providers, "c") ?? "", /no key: set C_KEY/);
});

test("[W7] [E8] a key or an address that no provider could accept is refused, and the error does not quote it", async (t) => {
  const key = await faultOf(t, { env: { ANTHROPIC_API_KEY: "two words" } });
  assert.match(key, /^environment variable ANTHROPIC_API_KEY: providers.anthropic.api_key must be a key/);
  assert.ok(!key.includes("two words"));
  const address = await faultOf(t, { env: { OPENAI_BASE_URL: "https://me:hunter2@example.org" } });
  assert.match(address, /must not contain a user or a password/);
  assert.ok(!address.includes("hunter2"));
});

test("[W7] the key may come from a variable of another name, which is then the only one that is read", async (t) => {
  const file = 'providers.openai.api_key_env = "WORK_KEY"';
  const found = await load(t, { file, env: { WORK_KEY: "sk-work", OPENAI_API_KEY: "sk-home" } });
  assert.equal(found.configuration.providers.openai.apiKey, "sk-work");
  assert.equal(found.sources.get("providers.openai.api_key")?.place, "WORK_KEY");
  const missing = await load(t, { file, env: { OPENAI_API_KEY: "sk-home" } });
  assert.equal(missing.configuration.providers.openai.apiKey, null);
});

test("[C6] [W7] a provider names the windows of models that aptove does not know", async (t) => {
  const file = [
    "[providers.compatible.ollama]",
    'base_url = "http://127.0.0.1:11434/v1"',
    'model = "llama3.1:8b"',
    'context_tokens = { "llama3.1:8b" = 8192, "qwen3-coder" = 32768 }',
    "[providers.openai.context_tokens]",
    '"gpt-7" = 2000000',
  ].join("\n");
  const { providers } = (await load(t, { file })).configuration;
  assert.deepEqual(providers.compatible[0]?.contextTokens, { "llama3.1:8b": 8_192, "qwen3-coder": 32_768 });
  assert.deepEqual([providers.openai.contextTokens, providers.google.contextTokens], [{ "gpt-7": 2_000_000 }, {}]);
  const opened = await lazyProviders(providers, [], null).get("ollama");
  assert.deepEqual(
    ["llama3.1:8b", "qwen3-coder-2026-01-01", "other", "constructor"].map((model) => opened?.contextTokens?.(model)),
    [8_192, 32_768, null, null],
  );
  const wrong = 'providers.google.context_tokens = { "gemini-4" = "much" }';
  assert.match(await faultOf(t, { file: wrong }), /providers\.google\.context_tokens must be a table of models/);
});
