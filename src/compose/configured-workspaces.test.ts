import assert from "node:assert/strict";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { rejectionOf } from "../../testing/refusals.ts";
import { temporaryFolder } from "../../testing/temporary-folder.ts";
import type { AptoveError } from "../domain/errors.ts";
import { mergeLayers, readSharedLayers } from "../configuration/configuration.ts";
import { dataFolderAt } from "../configuration/data-folder.ts";
import { fileWorkspaces } from "../workspace/files/file-workspaces.ts";
import type { WorkspaceStore } from "../workspace/workspace-store.ts";
import { configuredWorkspaces, type ConfiguredWorkspace, type ConfiguredWorkspaces } from "./configured-workspaces.ts";
import { lazyProviders } from "./lazy-providers.ts";

const first = "11111111-1111-4111-8111-111111111111";
const second = "22222222-2222-4222-8222-222222222222";

interface World {
  store: WorkspaceStore;
  base: ConfiguredWorkspace;
  of: ConfiguredWorkspaces;
  write(id: string, name: "config.toml" | "workspace.toml", text: string): void;
  remove(id: string, name: "config.toml"): void;
}

/** Two workspaces. The global configuration has a key for OpenAI, and a server named `work`. */
async function world(t: TestContext): Promise<World> {
  const dataDir = await temporaryFolder(t);
  writeFileSync(
    join(dataDir, "config.toml"),
    'providers.compatible.work = { base_url = "http://h/v1", model = "m" }\n',
  );
  const store = fileWorkspaces(dataFolderAt(dataDir));
  await store.create({ id: first, at: 1 });
  await store.create({ id: second, at: 2 });
  const shared = readSharedLayers({ dataDir, env: { OPENAI_API_KEY: "k" } });
  const { configuration } = mergeLayers(shared, null);
  const everybodys = lazyProviders(configuration.providers, [], null);
  const settle: Parameters<typeof configuredWorkspaces>[0]["settle"] = (own) => ({
    agentContexts: own.agentContexts,
    conversationContexts: own.conversationContexts,
    providers: lazyProviders(own.providers, [], everybodys),
  });
  const base = { configuration, settings: { ...settle(configuration), providers: everybodys } };
  const placeOf = (id: string, name: string): string => join(dataDir, "workspaces", id, name);
  return {
    store,
    base,
    of: configuredWorkspaces({ store: () => Promise.resolve(store), shared, base, settle }),
    write: (id, name, text) => writeFileSync(placeOf(id, name), text),
    remove: (id, name) => rmSync(placeOf(id, name)),
  };
}

test("[W7] a workspace without settings has the global configuration; a label that is no workspace has none", async (t) => {
  const { of, base } = await world(t);
  assert.equal(await of(first), base);
  for (const label of ["my-laptop", "default", "..", first.replace("1", "3"), ""]) {
    assert.equal(await of(label), null, label);
  }
});

test("[W7] a change of a workspace's settings takes effect at the next turn, and is merged once", async (t) => {
  const { of, base, store, write, remove } = await world(t);
  const provider = async (): Promise<string | undefined> => (await of(first))?.configuration.agentContexts[0]?.provider;
  assert.equal(await provider(), "openai");
  await store.update(first, { provider: "offline" });
  assert.equal(await provider(), "offline");
  write(first, "config.toml", 'provider = "work"\n');
  assert.equal(await provider(), "work");
  assert.equal(await of(first), await of(first));
  write(first, "config.toml", 'conversation_contexts.default.model = "other"\n');
  assert.equal(await provider(), "offline");
  assert.equal((await of(first))?.settings.conversationContexts[0]?.model, "other");
  assert.equal(await of(second), base);
  remove(first, "config.toml");
  await store.update(first, { provider: null });
  assert.equal(await of(first), base);
});

test("[W7] a provider is opened once for all workspaces with the same settings, and again for different ones", async (t) => {
  const { of, base, write } = await world(t);
  write(first, "config.toml", 'providers.compatible.work.model = "mine"\n');
  write(second, "config.toml", 'conversation_contexts.default.model = "other"\n');
  const [ofFirst, ofSecond] = [await of(first), await of(second)];
  const all = base.settings.providers;
  assert.notEqual(ofSecond?.settings.providers, all);
  for (const name of ["openai", "offline"]) {
    assert.equal(await ofFirst?.settings.providers.get(name), await all.get(name), name);
  }
  assert.equal(await ofSecond?.settings.providers.get("work"), await all.get("work"));
  const own = await ofFirst?.settings.providers.get("work");
  assert.equal(own?.defaultModel, "mine");
  assert.equal((await all.get("work"))?.defaultModel, "m");
  assert.equal(await (await of(first))?.settings.providers.get("work"), own);
});

test("[W7] a provider that only one workspace configures belongs to that workspace", async (t) => {
  const { of, base, write } = await world(t);
  write(
    first,
    "config.toml",
    'providers.compatible.mine = { base_url = "http://m/v1", model = "m" }\nprovider = "mine"',
  );
  const settings = (await of(first))?.settings;
  assert.deepEqual([...(settings?.providers.keys() ?? [])], ["offline", "openai", "work", "mine"]);
  assert.equal((await settings?.providers.get("mine"))?.name, "mine");
  assert.equal(base.settings.providers.get("mine"), undefined);
  assert.equal((await of(second))?.settings.providers.get("mine"), undefined);
});

test("[W7] [W1] a damaged or wrong workspace affects no other workspace, and works again when its file is fixed", async (t) => {
  const { of, base, write, store } = await world(t);
  const fault = (id: string): Promise<AptoveError> => rejectionOf(of(id));
  const cases: [string, RegExp][] = [
    ["provder = 1", /provder is not known; did you mean "provider"\?/],
    ['provider = "gemini"', /provider must be "offline" or "openai" or "anthropic" or "google" or "work"$/],
    ["providers.openia.api_key = 'k'", /providers.openia is not known; did you mean "providers.openai"\?/],
    ["providers.compatible.openai.model = 'm'", /is the name of a built-in provider/],
    ["provider =", /config.toml:1:\d+: /],
    ["[records]\nurl = 'postgres://h/d'", /records is the same for every workspace; set it in .*config.toml$/],
    [
      'conversation_context = "revew"\n[conversation_contexts.review]',
      /conversation_context must be "default" or "review"; for a context that is a record, write the line \[conversation_contexts\.revew\] too$/,
    ],
  ];
  for (const [text, expected] of cases) {
    write(first, "config.toml", text);
    const error = await fault(first);
    assert.equal(error.code, "config_invalid");
    assert.match(error.detail, expected);
    assert.ok(error.detail.includes(first), error.detail);
    assert.equal(await of(second), base);
  }
  write(first, "config.toml", "");
  assert.notEqual(await of(first), null);
  await store.update(first, { provider: "gemini" });
  assert.match((await fault(first)).detail, new RegExp(`^workspace.toml of ${first}: provider must be "offline" or`));
  write(first, "workspace.toml", "not a workspace");
  assert.equal((await fault(first)).code, "workspace_damaged");
  assert.equal(await of(second), base);
});
