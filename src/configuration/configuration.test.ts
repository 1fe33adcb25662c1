import assert from "node:assert/strict";
import { chmodSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { parse } from "smol-toml";
import { faultOf, load } from "../../testing/configuration.ts";
import { temporaryFolder } from "../../testing/temporary-folder.ts";
import { limits } from "../domain/limits.ts";
import { builtInModes } from "../domain/context.ts";
import { readContextEntry } from "./context-entry.ts";
import { knownKeys } from "./known-keys.ts";
import { effectiveValues, starterConfig } from "./config-text.ts";
import { loadConfiguration } from "./configuration.ts";
import { maskSecret } from "../system/mask-secret.ts";

test("[G1] [G2] without a configuration there are the default contexts, with the modes ask and edit", async (t) => {
  const { configuration, sources, warnings } = await load(t);
  assert.deepEqual(configuration.agentContexts, [
    { id: "default", name: "Default", provider: "offline", index: "local" },
  ]);
  const [conversation, ...others] = configuration.conversationContexts;
  assert.equal(others.length, 0);
  assert.equal(conversation?.id, "default");
  assert.deepEqual(conversation?.modes, builtInModes);
  assert.deepEqual(configuration.serve, { host: "127.0.0.1", port: 4270, allowedHosts: [], allowedOrigins: [] });
  assert.equal(configuration.limits.requestBodyBytesMax, limits.requestBodyBytesMax);
  assert.deepEqual([...sources, ...warnings], []);
});

test("[G1] contexts merge with the built-in ones and with each other's layers, key by key", async (t) => {
  const { configuration } = await load(t, {
    file: [
      "[agent_contexts.fast]",
      'provider = "openai"',
      "[conversation_contexts.code-review]",
      'boot_prompt = "Review."',
      "[conversation_contexts.code-review.settings]",
      "temperature = 0.5",
      "[conversation_contexts.default.modes.plan]",
      'instructions = "Plan first."',
      "[conversation_contexts.empty]",
    ].join("\n"),
    overrides: { conversation_contexts: { "code-review": { settings: { max_output_tokens: 10 } } } },
  });
  assert.deepEqual(
    configuration.agentContexts.map((context) => [context.id, context.name, context.provider]),
    [
      ["default", "Default", "offline"],
      ["fast", "Fast", "openai"],
    ],
  );
  const byId = new Map(configuration.conversationContexts.map((context) => [context.id, context]));
  assert.deepEqual([...byId.keys()], ["default", "code-review", "empty"]);
  assert.deepEqual(byId.get("code-review")?.settings, { temperature: 0.5, maxOutputTokens: 10 });
  assert.equal(byId.get("code-review")?.bootPrompt, "Review.");
  assert.equal(byId.get("empty")?.bootPrompt, byId.get("default")?.bootPrompt);
  assert.deepEqual(
    byId.get("default")?.modes.map((mode) => mode.id),
    ["ask", "edit", "plan"],
  );
});

test("[W7] the provider of a higher layer overrides the default context's provider of a lower layer", async (t) => {
  const file = 'provider = "openai"\n[agent_contexts.default]\nprovider = "offline"';
  const lower = await load(t, { file });
  assert.equal(lower.configuration.agentContexts[0]?.provider, "offline");
  const higher = await load(t, { file, env: { APTOVE_PROVIDER: "openai" } });
  assert.equal(higher.configuration.agentContexts[0]?.provider, "openai");
});

test("[W7] an unknown key is an error that names file, key and the nearest known key", async (t) => {
  const cases: [string, string, string][] = [
    ["[serve]\nprot = 1", "serve.prot", "serve.port"],
    ["port = 1", "port", "serve.port"],
    ["provder = 'openai'", "provder", "provider"],
    ["[conversation_contexts.default]\nboot_promt = ''", "conversation_contexts.default.boot_promt", "boot_prompt"],
    ["[conversation_contexts.x.modes.ask]\ninstruction = ''", "instruction", "instructions"],
    ["[limit]\nheartbeat_ms = 1", "limit", "limits"],
    ["__proto__ = 1", "__proto__", "provider"],
    ["constructor = 1", "constructor", "did you mean"],
  ];
  for (const [file, key, nearest] of cases) {
    const detail = await faultOf(t, { file });
    assert.ok(detail.includes("config.toml") && detail.includes(key) && detail.includes(nearest), detail);
  }
  const wrong = { overrides: { serve: { prot: 1 } } };
  assert.match(await faultOf(t, wrong), /^the option `overrides`: serve.prot/);
  assert.match(await faultOf(t, { ...wrong, overridesFrom: "the command line" }), /^the command line: serve.prot/);
});

test("[W7] of very many faults the first are reported, with the number of the others; a very long key takes no time", async (t) => {
  const keys = Array.from({ length: 20_000 }, (_, n) => `unknown_${n} = 1`);
  const detail = await faultOf(t, { file: keys.join("\n") });
  assert.equal(detail.match(/ is not known/g)?.length, 50);
  assert.match(detail, /; and 19950 more$/);
  const long = "k".repeat(1_000_000);
  assert.ok((await faultOf(t, { file: `${long} = 1` })).endsWith(`${long} is not known`));
});

test("[W7] a value of the wrong form is an error with its key, and all faults are reported at once", async (t) => {
  const detail = await faultOf(t, {
    file: [
      'provider = "opnai"',
      "[providers]",
      'openai = "x"',
      "[serve]",
      "port = 70000",
      'allowed_hosts = "a"',
      "[retrieval]",
      "dimension = 1.5",
      "[conversation_contexts.default]",
      "boot_prompt = 2000-01-01",
      'settings = { temperature = "hot" }',
      "[agent_contexts.'a/b']",
      "[limits]",
      "heartbeat_ms = 1",
    ].join("\n"),
  });
  for (const part of [
    'provider must be "offline" or "openai" or "anthropic" or "google"',
    "providers.openai must be a table",
    "serve.port must be a whole number from 0 to 65535",
    "serve.allowed_hosts must be a list of texts",
    "retrieval.dimension must be a whole number",
    "conversation_contexts.default.boot_prompt must be",
    "conversation_contexts.default.settings.temperature must be a number from 0 to 2",
    "agent_contexts.a/b is not a name",
    "limits.heartbeat_ms must be a whole number from 100",
  ]) {
    assert.ok(detail.includes(part), `${part} is not in: ${detail}`);
  }
});

test("[W7] an error names the variable that has the wrong form", async (t) => {
  assert.match(await faultOf(t, { env: { APTOVE_PORT: "many" } }), /variable APTOVE_PORT: serve.port must be/);
  assert.match(await faultOf(t, { env: { APTOVE_PORT: " " } }), /serve.port must be/);
  assert.match(await faultOf(t, { env: { OPENAI_BASE_URL: "ftp://x" } }), /must be an address/);
  assert.match(await faultOf(t, { env: { APTOVE_RECORDS_URL: "postgres://u:50%off@h/db" } }), /written as %25/);
  assert.match(await faultOf(t, { env: { APTOVE_PROVIDER: "claude" } }), /APTOVE_PROVIDER: provider must be/);
});

test("[W7] [E4] tools of the configuration are checked", async (t) => {
  const tool = (fields: string): string => `[[conversation_contexts.default.tools]]\n${fields}\n`;
  const good = tool('name = "run_tests"\ndescription = "Runs."\nstrict = true\nparameters = { type = "object" }');
  const { configuration } = await load(t, { file: good });
  assert.deepEqual(configuration.conversationContexts[0]?.tools, [
    { name: "run_tests", description: "Runs.", strict: true, parameters: { type: "object" } },
  ]);
  const cases: [string, RegExp][] = [
    [tool('name = "has space"\nparameters = {}'), /tools \[0\].name must be/],
    [tool('name = "a"'), /\[0\].parameters must be/],
    [tool('name = "a"\nparameters = { default = 2000-01-01 }'), /\[0\].parameters must be/],
    [tool('name = "a"\nparameters = {}\nparamters = 1'), /unknown key "paramters"/],
    [tool('name = "a"\nparameters = {}\nstrict = 1'), /strict must be/],
    [tool('name = "a"\nparameters = {}\ndescription = 1'), /description must be/],
    [good + good, /two tools of the name "run_tests"/],
    ["[conversation_contexts.default]\ntools = [1]", /\[0\] must be a table/],
    ["[conversation_contexts.default]\ntools = 1", /must be a list/],
  ];
  for (const [file, expected] of cases) assert.match(await faultOf(t, { file }), expected);
});

test("[W7] a file that is not TOML is an error with its line", async (t) => {
  assert.match(await faultOf(t, { file: "provider = 'openai'\nport ==" }), /config.toml:2:\d+: /);
  assert.match(await faultOf(t, { file: "provider = 'a'\nprovider = 'b'" }), /config.toml:2:\d+: /);
});

test("[W7] a byte order mark is accepted, and bytes that are not UTF-8 are refused", async (t) => {
  const { configuration } = await load(t, { file: '\ufeffprovider = "openai"' });
  assert.equal(configuration.provider, "openai");
  const dataDir = await temporaryFolder(t);
  writeFileSync(join(dataDir, "config.toml"), Uint8Array.of(0xff, 0xfe, 0x00));
  assert.throws(() => loadConfiguration({ dataDir, env: {} }), /is not UTF-8 text/);
});

test("[B6] loading warns about a file that contains secrets and that others can read", async (t) => {
  const dataDir = await temporaryFolder(t);
  const file = join(dataDir, "config.toml");
  writeFileSync(file, 'providers.openai.api_key = "sk-1"');
  chmodSync(file, 0o644);
  const { warnings } = loadConfiguration({ dataDir, env: {} });
  assert.match(warnings[0] ?? "", /can be read by other users.*chmod 600/);
  assert.ok(!warnings.join().includes("sk-1"));
  chmodSync(file, 0o600);
  assert.deepEqual(loadConfiguration({ dataDir, env: {} }).warnings, []);
});

test("[W7] the starter file changes nothing as it is, and is valid with every key uncommented", async (t) => {
  const text = starterConfig();
  assert.deepEqual((await load(t, { file: text })).sources.size, 0);
  const uncommented = text.replaceAll(/^# /gm, "");
  const { sources } = await load(t, { file: uncommented });
  for (const { sample } of knownKeys()) {
    assert.equal(sources.get(sample)?.layer, "global", `${sample} is not in the starter file`);
  }
  assert.doesNotThrow(() => parse(uncommented));
});

test("[W7] [E8] the effective values name their sources and mask every secret", async (t) => {
  const loaded = await load(t, {
    file: 'serve.port = 5000\nrecords.url = "postgres://me:hunter2@db/aptove?sslpassword=hunter2"',
    env: { OPENAI_API_KEY: "sk-very-secret-key-of-mine" },
  });
  const values = new Map(effectiveValues(loaded).map(({ key, ...rest }) => [key, rest]));
  assert.deepEqual(values.get("serve.port"), { value: "5000", layer: "global", source: loaded.file });
  assert.equal(values.get("providers.openai.api_key")?.source, "OPENAI_API_KEY");
  assert.equal(values.get("serve.host")?.source, "built-in");
  assert.equal(values.get("conversation_contexts.default.modes.edit.tools")?.value, null);
  const text = JSON.stringify([...values]);
  for (const secret of ["hunter2", "very-secret"]) assert.ok(!text.includes(secret), text);
  assert.equal(maskSecret("short"), "***");
});

test('[G2] [W7] modes = "open" allows any mode, and every other word in its place is a fault', () => {
  const read = (modes: unknown): unknown =>
    readContextEntry({ kind: "conversation", id: "x", entry: { modes }, provider: "p", index: "i" });
  const open = read("open");
  assert.ok(typeof open === "object" && open !== null && "openModes" in open && open.openModes === true);
  assert.throws(() => read("any"), /modes must be a table/);
});

test("[W7] the documentation of the configuration names exactly the known keys and variables", () => {
  const page = readFileSync(new URL("../../docs/configuration.md", import.meta.url), "utf8");
  const documented = [...page.matchAll(/^\| `([a-z_.<>]+)` +\|/gm)].map((match) => match[1]);
  assert.deepEqual(
    documented,
    knownKeys().map(({ path }) => path),
  );
  for (const { path, field } of knownKeys()) {
    const row = page.split("\n").find((line) => line.startsWith(`| \`${path}\` `)) ?? "";
    if (field.env !== undefined) assert.ok(row.includes(`\`${field.env}\``), `${path} does not name ${field.env}`);
  }
});
