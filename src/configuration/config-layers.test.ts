/** Every key of the configuration through every pair of layers that may hold it; a new key is covered by being one (W7). */
import assert from "node:assert/strict";
import { test } from "node:test";
import { faultOf, load, workspaceFile, type Layers } from "../../testing/configuration.ts";
import { knownKeys, type KnownKey } from "./known-keys.ts";
import type { ValueField } from "./config-forms.ts";
import { loadConfiguration, type Configuration, type ValueSource } from "./configuration.ts";

/** Two values of a key that differ from each other and from the built-in one. */
function twoValues(path: string, field: ValueField): [unknown, unknown] {
  const tool = (name: string) => ({ name, parameters: { type: "object" } });
  const candidates: unknown[] = [
    "openai",
    "anthropic",
    "offline",
    "lexical",
    "database",
    "files",
    "optional",
    "off",
    "chain",
    "replay",
    "when-changed",
    "always",
    "low",
    "high",
    "concise",
    "detailed",
    "keep",
    "refuse",
    "https://one.example.org",
    "https://two.example.org",
    "s3://one/two",
    "s3://two/one",
    "postgres://one/db",
    "postgres://two/db",
    "redis://one",
    "redis://two",
    "one",
    "two",
    2_000,
    3_000,
    1.5,
    0.5,
    true,
    false,
    ["one"],
    ["two"],
    [tool("one")],
    [tool("two")],
    { one: 2_000 },
    { two: 3_000 },
  ];
  const builtIn = builtInValue(path);
  const fits = candidates.filter(
    (value) => field.fault(value) === null && JSON.stringify(value) !== JSON.stringify(builtIn),
  );
  // Contexts that there are, by the surroundings below.
  const [first, second] = /^\w+_context$/.test(path) ? ["one", "two"] : fits;
  // A key with only two values, one of them built in, and `index`, which has one: the same twice.
  const one = first ?? builtIn;
  return [one, second ?? builtIn];
}

function builtInValue(path: string): unknown {
  return valueOf(loadConfiguration({ dataDir: "/nowhere", env: {} }).configuration, path);
}

/** The value of a key, by the way from the file's names to those of the code. */
function valueOf(configuration: Configuration, path: string): unknown {
  let at: unknown = configuration;
  for (const part of path.split(".")) {
    const name = part.replace(/_([a-z])/g, (_all, letter: string) => letter.toUpperCase());
    if (Array.isArray(at)) at = at.find((item: { id: string }) => item.id === part);
    else at = (at as Record<string, unknown> | undefined)?.[name];
  }
  return at;
}

/** `a.b.c` and a value as the tree of a layer. */
function treeOf(path: string, value: unknown): Record<string, unknown> {
  const [first = "", ...rest] = path.split(".");
  return { [first]: rest.length === 0 ? value : treeOf(rest.join("."), value) };
}

function tomlOf(path: string, value: unknown): string {
  const inline = (item: unknown): string => {
    if (Array.isArray(item)) return `[${item.map(inline).join(", ")}]`;
    if (typeof item !== "object" || item === null) return JSON.stringify(item);
    return `{ ${Object.entries(item)
      .map(([key, inner]) => `${key} = ${inline(inner)}`)
      .join(", ")} }`;
  };
  return `${path} = ${inline(value)}\n`;
}

/** A compatible server's key has no variable until one is named. */
const keyVariables: Record<string, string> = {
  "providers.openai.api_key": "OPENAI_API_KEY",
  "providers.anthropic.api_key": "ANTHROPIC_API_KEY",
  "providers.google.api_key": "GOOGLE_API_KEY",
};

/** What must stand in the global file, so that the key alone is no fault. */
function surroundings(pattern: string): string {
  if (/^\w+_context$/.test(pattern)) return `${pattern}s = { one = {}, two = {} }\n`;
  if (/^mcp_servers\.<id>\.(command|url)$/.test(pattern)) return "";
  if (pattern.startsWith("mcp_servers.<id>.headers")) return 'mcp_servers.default.url = "https://here.example.org"\n';
  return pattern.startsWith("mcp_servers.") ? 'mcp_servers.default.command = "here"\n' : "";
}

/** A layer: whether it may have a key, how to set a value in it, and how it appears as a source. */
interface LayerForm {
  name: string;
  takes(key: KnownKey): boolean;
  put(layers: Layers, at: { pattern: string; path: string }, value: unknown): Layers;
  source(pattern: string, file: string): ValueSource;
}

const variableOf = (pattern: string): string | undefined =>
  keyVariables[pattern] ?? knownKeys().find(({ path }) => path === pattern)?.field.env;

/** The lowest first. */
const layerForms: LayerForm[] = [
  {
    name: "global file",
    takes: () => true,
    put: (layers, { path }, value) => ({ ...layers, file: (layers.file ?? "") + tomlOf(path, value) }),
    source: (_pattern, file) => ({ layer: "global", place: file }),
  },
  {
    name: "workspace.toml",
    takes: ({ path }) => path === "provider",
    put: (layers, _at, value) => ({ ...layers, workspace: { ...layers.workspace, provider: String(value) } }),
    source: () => ({ layer: "workspace", place: "workspace.toml of w" }),
  },
  {
    name: "workspace file",
    takes: ({ isShared }) => !isShared,
    put: (layers, { path }, value) => ({ ...layers, workspace: { ...layers.workspace, config: tomlOf(path, value) } }),
    source: () => ({ layer: "workspace", place: workspaceFile }),
  },
  {
    name: "environment",
    takes: ({ path }) => variableOf(path) !== undefined,
    put: (layers, { pattern }, value) => ({ ...layers, env: { [variableOf(pattern) ?? ""]: String(value) } }),
    source: (pattern) => ({ layer: "environment", place: variableOf(pattern) ?? "" }),
  },
  {
    name: "caller",
    takes: () => true,
    put: (layers, { path }, value) => ({ ...layers, overrides: treeOf(path, value) }),
    source: () => ({ layer: "explicit", place: "the option `overrides`" }),
  },
];

for (const known of knownKeys()) {
  const { path: pattern, field } = known;
  const path = pattern.replaceAll("<id>", "default").replace("modes.default", "modes.ask");
  const at = { pattern, path };
  const forms = layerForms.filter((form) => form.takes(known));
  const [low, high] = twoValues(path, field);
  const start: Layers = { file: surroundings(pattern) };

  test(`[W7] [G1] [G2] ${pattern}: ${forms.map(({ name }) => name).join(" < ")}`, async (t) => {
    for (const [index, form] of forms.entries()) {
      const alone = await load(t, form.put(start, at, low));
      assert.deepEqual(valueOf(alone.configuration, path), low, form.name);
      assert.deepEqual(alone.sources.get(path), form.source(pattern, alone.file));
      for (const higher of forms.slice(index + 1)) {
        const both = await load(t, higher.put(form.put(start, at, low), at, high));
        assert.deepEqual(valueOf(both.configuration, path), high, `${higher.name} over ${form.name}`);
        assert.deepEqual(both.sources.get(path), higher.source(pattern, both.file));
      }
    }
  });

  if (known.isShared) {
    test(`[W7] ${pattern} is refused in a workspace's file, and the error names the file where it belongs`, async (t) => {
      const detail = await faultOf(t, { workspace: { config: tomlOf(path, low) } });
      const table = pattern.split(".")[0] ?? "";
      assert.ok(detail.startsWith(`${workspaceFile}: ${table} is the same for every workspace; set it in `), detail);
      assert.match(detail, /aptove-test-\w+\/config\.toml$/);
    });
  }
}
