/**
 * Loads the configuration from its layers (W7), from the lowest to the highest: the built-in values, `config.toml` of
 * the data folder, a workspace's `workspace.toml`, the workspace's own `config.toml`, the environment, and explicit
 * values of the caller. Each key takes the value of the highest layer that has it. Tables are merged, lists are replaced.
 *
 * The data folder's file is read once, when the program starts. A workspace's files are read again for every turn, and
 * a fault in them affects only that workspace.
 */
import { statSync } from "node:fs";
import { AptoveError } from "../domain/errors.ts";
import { isTable } from "../system/guards.ts";
import { settleConfiguration, type Configuration } from "./built-in-configuration.ts";
import {
  configInvalid,
  environmentLayer,
  fieldAt,
  flattenLayer,
  parseConfigText,
  sourceText,
  readConfigText,
  serversKey,
  type ConfigFault,
  type Environment,
  type ConfigLayer,
  type ValueSource,
} from "./config-layer.ts";
import { builtInProviders } from "./configured-providers.ts";
import { dataFolderAt } from "./data-folder.ts";
import { mcpServerFaults } from "./mcp-servers.ts";
import { chosenNames, MergedValues, type LayerValues } from "./merged-values.ts";

export type { Configuration } from "./built-in-configuration.ts";
export type { ValueSource } from "./config-layer.ts";

export interface LoadedConfiguration {
  configuration: Configuration;
  /** The source of each key, by key path (`serve.port`). A key that no layer sets is absent: it has its built-in value. */
  sources: ReadonlyMap<string, ValueSource>;
  /** Warnings, which do not stop the start. */
  warnings: string[];
}

export interface ConfigurationRequest {
  dataDir: string;
  env: Environment;
  /** Values of the highest layer in the form of the file, for example `{ serve: { port: 0 } }`. */
  overrides?: Record<string, unknown>;
  /** The source of these values, as messages name it. Default: the option of the library. */
  overridesFrom?: string;
  /** Names of providers that the caller adds to the configured ones. */
  providers?: readonly string[];
}

/** The layers that are the same for every workspace, read once. */
export interface SharedLayers {
  file: string;
  global: ConfigLayer;
  explicit: ConfigLayer;
  env: Environment;
  providers: readonly string[];
  faults: readonly ConfigFault[];
}

interface ConfigFile {
  text: string;
  /** The place that messages name. */
  place: string;
}

/** The settings of one workspace's own files. */
export interface WorkspaceConfigFiles {
  id: string;
  /** The provider in its `workspace.toml`, which its `config.toml` overrides. */
  provider: string | null;
  /** Its own `config.toml`. Null if it has none. */
  config: ConfigFile | null;
}

/** Loads the configuration of the data folder. Throws `config_invalid` with every fault: its place, its key, and for an unknown key the nearest known one. */
export function loadConfiguration(request: ConfigurationRequest): LoadedConfiguration {
  return mergeLayers(readSharedLayers(request), null);
}

/** Returns true for the empty table that stands for a chosen name: it has no value of its own. */
function isOnlyName(value: unknown): boolean {
  return isTable(value) && Object.keys(value).length === 0;
}

/** Reads the layers that all workspaces share. Throws `config_invalid` if the file cannot be read; `mergeLayers` reports all other faults. */
export function readSharedLayers(request: ConfigurationRequest): SharedLayers {
  const file = dataFolderAt(request.dataDir).config;
  const text = readConfigText(file);
  const faults: ConfigFault[] = [];
  const fromFile = flattenLayer({ tree: text === null ? {} : parseConfigText(text, file), place: file }, faults);
  const { overrides = {}, overridesFrom = "the option `overrides`" } = request;
  const fromCaller = flattenLayer({ tree: overrides, place: overridesFrom }, faults);
  return {
    file,
    global: { values: fromFile, source: () => ({ layer: "global", place: file }) },
    explicit: { values: fromCaller, source: () => ({ layer: "explicit", place: overridesFrom }) },
    env: request.env,
    providers: request.providers ?? [],
    faults,
  };
}

/** The part of the workspace store that the configuration needs. */
interface WorkspaceLayerStore {
  load(id: string): Promise<{ provider: string | null } | null>;
  loadConfig(id: string): Promise<ConfigFile | null>;
}

/** Reads the settings of a workspace, or returns null if there is no such workspace. Throws what the store throws, mostly `workspace_damaged`. */
export async function readWorkspaceSettings(
  store: WorkspaceLayerStore,
  id: string,
): Promise<WorkspaceConfigFiles | null> {
  const workspace = await store.load(id);
  if (workspace === null) return null;
  try {
    return { id, provider: workspace.provider, config: await store.loadConfig(id) };
  } catch (error) {
    // The workspace was deleted between the two reads.
    if (error instanceof AptoveError && error.code === "workspace_unknown") return null;
    throw error;
  }
}

/** Merges all layers. If `workspace` is null, the result has no layer of a workspace. Throws `config_invalid` with every fault. */
export function mergeLayers(shared: SharedLayers, workspace: WorkspaceConfigFiles | null): LoadedConfiguration {
  const faults: ConfigFault[] = [...shared.faults];
  const own = workspace === null ? [] : workspaceLayers(shared, workspace, faults);
  const { global, explicit } = shared;
  const highestFirst = [explicit, ...own.toReversed(), global].map(({ values }) => values);
  const environment = environmentLayer(shared.env, highestFirst, faults);
  const layers = [global, ...own, environment, explicit];
  faults.push(...nameFaults(layers, shared.providers));
  if (faults.length > 0) throw configInvalid(faults);

  const values: LayerValues = new Map();
  const sources = new Map<string, ValueSource>();
  for (const layer of layers) {
    for (const [key, value] of [...layer.values, ...sharedProvider(layer.values)]) {
      if (isOnlyName(value) && values.has(key)) continue;
      values.set(key, value);
      sources.set(key, layer.source(key));
    }
  }
  faults.push(...serverFaults(values, sources));
  if (faults.length > 0) throw configInvalid(faults);
  const files = [global, ...own].flatMap((layer) => readableByOthers(layer));
  return {
    configuration: settleConfiguration(values),
    sources,
    warnings: [...files, ...overriddenWarnings(own, sources)],
  };
}

/** Returns the workspace's layers, the lowest first. */
function workspaceLayers(shared: SharedLayers, words: WorkspaceConfigFiles, faults: ConfigFault[]): ConfigLayer[] {
  const { id, provider, config } = words;
  const layers: ConfigLayer[] = [];
  if (provider !== null) {
    const place = `workspace.toml of ${id}`;
    const values = flattenLayer({ tree: { provider }, place }, faults);
    layers.push({ values, source: () => ({ layer: "workspace", place }) });
  }
  if (config !== null) {
    const { text, place } = config;
    const values = flattenLayer({ tree: parseConfigText(text, place), place, sharedPlace: shared.file }, faults);
    layers.push({ values, source: () => ({ layer: "workspace", place }) });
  }
  return layers;
}

/** `provider` at the top of a layer is the short form of the default agent context's provider. The long form wins. */
function sharedProvider(values: LayerValues): [string, unknown][] {
  const provider = values.get("provider");
  const key = "agent_contexts.default.provider";
  return provider === undefined || values.has(key) ? [] : [[key, provider]];
}

/** Checks names against all layers, because any layer may configure a server or a context. */
function nameFaults(layers: readonly ConfigLayer[], brought: readonly string[]): ConfigFault[] {
  const chosen = (key: string): string[] => layers.flatMap(({ values }) => chosenNames(values.keys(), key));
  const providers = [...builtInProviders, ...brought, ...chosen(serversKey)];
  const agents = ["default", ...chosen("agent_contexts")];
  const conversations = ["default", ...chosen("conversation_contexts")];
  const knownAt = (key: string): string[] | null => {
    if (key === "provider" || /^agent_contexts\.[^.]+\.provider$/.test(key)) return providers;
    if (key === "agent_context") return agents;
    return key === "conversation_context" ? conversations : null;
  };
  const isBuiltIn = (name: string | undefined): boolean => builtInProviders.some((each) => each === name);
  return layers.flatMap(({ values, source }) =>
    [...values].flatMap(([key, value]): ConfigFault[] => {
      const place = sourceText(source(key));
      const known = knownAt(key);
      if (known !== null && !known.includes(value as string))
        return [{ place, key, message: `must be ${oneOf(known)}${recordHint(key, value)}` }];
      const server = isTable(value) && key.startsWith(`${serversKey}.`) ? key.slice(serversKey.length + 1) : undefined;
      return isBuiltIn(server)
        ? [{ place, key, message: "is the name of a built-in provider; choose another name" }]
        : [];
    }),
  );
}

/** The layers do not know which contexts are records (G1), so that they must have the name too. */
function recordHint(key: string, value: unknown): string {
  if (key !== "agent_context" && key !== "conversation_context") return "";
  return `; for a context that is a record, write the line [${key}s.${String(value)}] too`;
}

function oneOf(names: readonly string[]): string {
  return [...new Set(names)].map((name) => JSON.stringify(name)).join(" or ");
}

function serverFaults(values: LayerValues, sources: ReadonlyMap<string, ValueSource>): ConfigFault[] {
  const place = (key: string): string => {
    const source = sources.get(key);
    return source === undefined ? "built-in" : sourceText(source);
  };
  return mcpServerFaults(new MergedValues(values)).map(({ key, message, besides }) => {
    const other =
      besides === undefined || place(besides) === place(key) ? "" : ` (${besides} is set by ${place(besides)})`;
    return { place: place(key), key, message: `${message}${other}` };
  });
}

function readableByOthers({ values, source }: ConfigLayer): string[] {
  const secret = [...values].find(([key, value]) => {
    if (isTable(value)) return false;
    const { isSecret = false, hasSecret } = fieldAt(key);
    return isSecret && (hasSecret?.(value) ?? true);
  });
  if (secret === undefined || process.platform === "win32") return [];
  const { place } = source(secret[0]);
  // A workspace is not necessarily stored in files.
  const mode = statSync(place, { throwIfNoEntry: false })?.mode ?? 0;
  return (mode & 0o077) === 0
    ? []
    : [`${place} contains secrets and can be read by other users; run: chmod 600 "${place}"`];
}

/** Returns a warning for each key of a workspace that the environment overrides. */
function overriddenWarnings(own: readonly ConfigLayer[], sources: ReadonlyMap<string, ValueSource>): string[] {
  return own.flatMap(({ values, source }) =>
    [...values.keys()].flatMap((key) => {
      const counts = sources.get(key);
      if (counts?.layer !== "environment") return [];
      return [`${source(key).place}: ${key} is not used, because ${counts.place} is set in the environment`];
    }),
  );
}
