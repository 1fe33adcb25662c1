/**
 * The configuration, layer over layer (W7): built-in, `config.toml` of the data folder, what a workspace says in its
 * `workspace.toml` and then in its own `config.toml`, the environment, explicit values of the caller. Each key takes
 * the value of the highest layer that has it: tables are merged, lists replaced.
 *
 * The data folder's file is read once, when the program starts. What a workspace says comes anew with every turn, and
 * what is wrong with it is that workspace's matter alone.
 */
import { statSync } from "node:fs";
import { AptoveError } from "../domain/errors.ts";
import { isTable } from "../system/guards.ts";
import { settleConfiguration } from "./built-in-configuration.ts";
import type { Configuration } from "./built-in-configuration.ts";
import {
  configInvalid,
  environmentLayer,
  fieldAt,
  flatten,
  parseConfigText,
  placeOf,
  readConfigText,
  serversKey,
} from "./config-layer.ts";
import type { ConfigFault, Environment, Layer, ValueSource } from "./config-layer.ts";
import { builtInProviders } from "./configured-providers.ts";
import { dataFolderAt } from "./data-folder.ts";
import { mcpServerFaults } from "./mcp-servers.ts";
import { chosenNames, MergedValues } from "./merged-values.ts";
import type { LayerValues } from "./merged-values.ts";

export type { Configuration } from "./built-in-configuration.ts";
export type { ValueSource } from "./config-layer.ts";

export interface LoadedConfiguration {
  configuration: Configuration;
  /** By key path (`serve.port`), for every key that some layer sets; absent: built-in. */
  sources: ReadonlyMap<string, ValueSource>;
  /** Things worth saying that do not stop the start. */
  warnings: string[];
}

export interface ConfigurationRequest {
  dataDir: string;
  env: Environment;
  /** In the form of the file, for example `{ serve: { port: 0 } }`. */
  overrides?: Record<string, unknown>;
  /** Names of providers that the program's caller brings beside the configured ones. */
  providers?: readonly string[];
}

/** The layers that are the same for every workspace, read once. */
export interface SharedLayers {
  file: string;
  global: Layer;
  explicit: Layer;
  env: Environment;
  providers: readonly string[];
  faults: readonly ConfigFault[];
}

/** What a workspace says itself. */
export interface WorkspaceWords {
  id: string;
  /** Of its `workspace.toml`: its lowest word. */
  provider: string | null;
  config: { text: string; place: string } | null;
}

const theCommandLine = "the command line";

/** Throws `config_invalid` that names every fault: place, key, and for an unknown key the nearest known one. */
export function loadConfiguration(request: ConfigurationRequest): LoadedConfiguration {
  return mergeLayers(readSharedLayers(request), null);
}

/** Throws `config_invalid` for a file that cannot be read at all; all other faults are told by `mergeLayers`. */
export function readSharedLayers(request: ConfigurationRequest): SharedLayers {
  const file = dataFolderAt(request.dataDir).config;
  const text = readConfigText(file);
  const faults: ConfigFault[] = [];
  const fromFile = flatten({ tree: text === null ? {} : parseConfigText(text, file), place: file }, faults);
  const fromCaller = flatten({ tree: request.overrides ?? {}, place: theCommandLine }, faults);
  return {
    file,
    global: { values: fromFile, source: () => ({ layer: "global", place: file }) },
    explicit: { values: fromCaller, source: () => ({ layer: "explicit", place: theCommandLine }) },
    env: request.env,
    providers: request.providers ?? [],
    faults,
  };
}

/** What the configuration reads of a workspace; the store of workspaces has it. */
interface WorkspaceLayerStore {
  load(id: string): Promise<{ provider: string | null } | null>;
  loadConfig(id: string): Promise<{ text: string; place: string } | null>;
}

/** Null: there is no such workspace. Throws what the store throws, `workspace_damaged` above all. */
export async function workspaceWords(store: WorkspaceLayerStore, id: string): Promise<WorkspaceWords | null> {
  const workspace = await store.load(id);
  if (workspace === null) return null;
  try {
    return { id, provider: workspace.provider, config: await store.loadConfig(id) };
  } catch (error) {
    // It was deleted between the two.
    if (error instanceof AptoveError && error.code === "workspace_unknown") return null;
    throw error;
  }
}

/** Null: the data folder's own word. Throws `config_invalid` that names every fault. */
export function mergeLayers(shared: SharedLayers, workspace: WorkspaceWords | null): LoadedConfiguration {
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
      if (isTable(value) && values.has(key)) continue;
      values.set(key, value);
      sources.set(key, layer.source(key));
    }
  }
  faults.push(...serverFaults(values, sources));
  if (faults.length > 0) throw configInvalid(faults);
  const files = [global, ...own].flatMap((layer) => readableByOthers(layer));
  return { configuration: settleConfiguration(values), sources, warnings: [...files, ...unheard(own, sources)] };
}

/** The workspace's layers, the lowest first. */
function workspaceLayers(shared: SharedLayers, words: WorkspaceWords, faults: ConfigFault[]): Layer[] {
  const { id, provider, config } = words;
  const layers: Layer[] = [];
  if (provider !== null) {
    const place = `workspace.toml of ${id}`;
    const values = flatten({ tree: { provider }, place }, faults);
    layers.push({ values, source: () => ({ layer: "workspace", place }) });
  }
  if (config !== null) {
    const { text, place } = config;
    const values = flatten({ tree: parseConfigText(text, place), place, sharedPlace: shared.file }, faults);
    layers.push({ values, source: () => ({ layer: "workspace", place }) });
  }
  return layers;
}

/** `provider` at the top of a layer is the short form of the default agent context's; the long form wins. */
function sharedProvider(values: LayerValues): [string, unknown][] {
  const provider = values.get("provider");
  const key = "agent_contexts.default.provider";
  return provider === undefined || values.has(key) ? [] : [[key, provider]];
}

/** Names can be checked only against all layers: any of them may configure a server or a context. */
function nameFaults(layers: readonly Layer[], brought: readonly string[]): ConfigFault[] {
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
      const place = placeOf(source(key));
      const known = knownAt(key);
      if (known !== null && !known.includes(value as string))
        return [{ place, key, message: `must be ${oneOf(known)}` }];
      const server = isTable(value) && key.startsWith(`${serversKey}.`) ? key.slice(serversKey.length + 1) : undefined;
      return isBuiltIn(server) ? [{ place, key, message: "is the name of a built-in provider; take another" }] : [];
    }),
  );
}

function oneOf(names: readonly string[]): string {
  return [...new Set(names)].map((name) => JSON.stringify(name)).join(" or ");
}

function serverFaults(values: LayerValues, sources: ReadonlyMap<string, ValueSource>): ConfigFault[] {
  const place = (key: string): string => {
    const source = sources.get(key);
    return source === undefined ? "built-in" : placeOf(source);
  };
  return mcpServerFaults(new MergedValues(values)).map(({ key, message, besides }) => {
    const other = besides === undefined || place(besides) === place(key) ? "" : ` (that one is of ${place(besides)})`;
    return { place: place(key), key, message: `${message}${other}` };
  });
}

function readableByOthers({ values, source }: Layer): string[] {
  const secret = [...values].find(([key, value]) => !isTable(value) && fieldAt(key).isSecret === true);
  if (secret === undefined || process.platform === "win32") return [];
  const { place } = source(secret[0]);
  // A workspace may be kept elsewhere than in files.
  const mode = statSync(place, { throwIfNoEntry: false })?.mode ?? 0;
  return (mode & 0o077) === 0 ? [] : [`${place} holds secrets and can be read by others; run: chmod 600 "${place}"`];
}

/** What a workspace says, and the environment says otherwise. */
function unheard(own: readonly Layer[], sources: ReadonlyMap<string, ValueSource>): string[] {
  return own.flatMap(({ values, source }) =>
    [...values.keys()].flatMap((key) => {
      const counts = sources.get(key);
      if (counts?.layer !== "environment") return [];
      return [`${source(key).place}: ${key} does not count, because ${counts.place} is set in the environment`];
    }),
  );
}
