/**
 * The providers of the configuration: the variables that may hold their keys, the providers that can be called, and
 * the provider that answers if nothing names one.
 */
import type { MergedValues } from "./merged-values.ts";

/** The settings of a provider that needs a key. */
export interface KeyedProvider {
  apiKey: string | null;
  /** Name of the environment variable that holds the key. */
  apiKeyEnv: string;
  /** Address of the API. Null for the provider's own address. */
  baseUrl: string | null;
  /** The model to call if nothing else names one. */
  model: string;
  contextTokens: ModelWindows;
}

/** The context windows of models in tokens, by their names (C6). */
export type ModelWindows = Readonly<Record<string, number>>;

/** A server with OpenAI's chat completions API. Its id is its name as a provider. */
export interface CompatibleServer {
  id: string;
  baseUrl: string | null;
  model: string | null;
  contextTokens: ModelWindows;
  /** Null if the server needs no key. */
  apiKey: string | null;
  apiKeyEnv: string | null;
}

export interface ConfiguredProviders {
  openai: KeyedProvider & { organization: string | null };
  anthropic: KeyedProvider & { maxOutputTokens: number | null };
  google: KeyedProvider;
  compatible: CompatibleServer[];
  offline: { delayMs: number };
}

/** The name of a provider that exists without configuration. Those of `providers.compatible` are added by name. */
export type BuiltInProvider = Exclude<keyof ConfiguredProviders, "compatible">;
/** The name of a built-in provider that needs a key. */
export type KeyedName = {
  [Name in BuiltInProvider]: "apiKey" extends keyof ConfiguredProviders[Name] ? Name : never;
}[BuiltInProvider];

interface KeyedDefaults {
  /** The variables that may hold the key if `api_key_env` names none. The first one that is set is used. */
  keyVariables: readonly [string, ...string[]];
  /** The model to call by default. It has a row in domain/models.ts, so that its context window and its price are known (C4). */
  model: string;
}

/** Every built-in provider that needs a key, in the order in which they are tried if nothing names one. */
export const keyedProviders = {
  openai: { keyVariables: ["OPENAI_API_KEY"], model: "gpt-6.2-sol" },
  anthropic: { keyVariables: ["ANTHROPIC_API_KEY"], model: "claude-sonnet-5" },
  // Both names are common, and Google's own programs read them in this order.
  google: { keyVariables: ["GOOGLE_API_KEY", "GEMINI_API_KEY"], model: "gemini-3.8-flash" },
} as const satisfies Record<KeyedName, KeyedDefaults>;
export const keyedNames = Object.keys(keyedProviders) as KeyedName[];

/** Every built-in provider that needs no key. */
const keylessProviders = { offline: true } as const satisfies Record<Exclude<BuiltInProvider, KeyedName>, true>;

export const builtInProviders: readonly BuiltInProvider[] = [
  ...(Object.keys(keylessProviders) as (keyof typeof keylessProviders)[]),
  ...keyedNames,
];

/** Returns the settings of all providers that may have a key: the built-in ones, then the compatible servers. */
export function settingsWithKeys(providers: ConfiguredProviders): (KeyedProvider | CompatibleServer)[] {
  return [...keyedNames.map((name) => providers[name]), ...providers.compatible];
}

/**
 * Returns the variables that may hold the key of each provider, by the path of the key. `named` returns the value of
 * `api_key_env` in the other layers; if there is one, that variable is the only one.
 */
export function keyVariables(
  servers: readonly string[],
  named: (path: string) => string | undefined,
): Map<string, readonly string[]> {
  const found = new Map<string, readonly string[]>();
  const add = (provider: string, usual: readonly string[]): void => {
    const chosen = named(`providers.${provider}.api_key_env`);
    found.set(`providers.${provider}.api_key`, chosen === undefined ? usual : [chosen]);
  };
  for (const name of keyedNames) add(name, keyedProviders[name].keyVariables);
  for (const name of servers) add(`compatible.${name}`, []);
  return found;
}

export function settleProviders(values: MergedValues): ConfiguredProviders {
  const keyed = (name: KeyedName): KeyedProvider => ({
    apiKey: values.text(`providers.${name}.api_key`),
    apiKeyEnv: values.text(`providers.${name}.api_key_env`) ?? keyedProviders[name].keyVariables[0],
    baseUrl: values.text(`providers.${name}.base_url`),
    model: values.text(`providers.${name}.model`) ?? keyedProviders[name].model,
    contextTokens: { ...values.get<ModelWindows>(`providers.${name}.context_tokens`) },
  });
  const server = (id: string): CompatibleServer => ({
    id,
    baseUrl: values.text(`providers.compatible.${id}.base_url`),
    model: values.text(`providers.compatible.${id}.model`),
    contextTokens: { ...values.get<ModelWindows>(`providers.compatible.${id}.context_tokens`) },
    apiKey: values.text(`providers.compatible.${id}.api_key`),
    apiKeyEnv: values.text(`providers.compatible.${id}.api_key_env`),
  });
  return {
    openai: { ...keyed("openai"), organization: values.text("providers.openai.organization") },
    anthropic: {
      ...keyed("anthropic"),
      maxOutputTokens: values.get<number>("providers.anthropic.max_output_tokens") ?? null,
    },
    google: keyed("google"),
    compatible: values.names("providers.compatible", []).map(server),
    offline: { delayMs: values.get<number>("providers.offline.delay_ms") ?? 0 },
  };
}

/** Returns the environment variable for the key that a provider lacks, or null if it has one or needs none. */
export function missingKey(providers: ConfiguredProviders, name: string): string | null {
  const keyed = keyedNames.find((each) => each === name);
  const settings = keyed === undefined ? providers.compatible.find(({ id }) => id === name) : providers[keyed];
  return settings === undefined || settings.apiKey !== null ? null : settings.apiKeyEnv;
}

/** Returns why a provider cannot be called and how to fix it, or null if the configuration shows no fault. */
export function providerFault(providers: ConfiguredProviders, name: string): string | null {
  const variable = missingKey(providers, name);
  const keyed = keyedNames.find((each) => each === name);
  if (keyed !== undefined) {
    return variable === null ? null : `has no key: set ${variable}, or providers.${keyed}.api_key in config.toml`;
  }
  const server = providers.compatible.find(({ id }) => id === name);
  if (server === undefined) return null;
  const key = `providers.compatible.${name}`;
  if (server.baseUrl === null) return `has no address: set ${key}.base_url in config.toml`;
  if (server.model === null) return `has no model: set ${key}.model in config.toml`;
  return variable === null ? null : `has no key: set ${variable}, or leave out ${key}.api_key_env`;
}

/** Returns the names of the providers that were configured and can be called: those with a key, or with an address and a model. */
export function callableProviders(providers: ConfiguredProviders): string[] {
  const names = [...keyedNames, ...providers.compatible.map(({ id }) => id)];
  return names.filter((name) => providerFault(providers, name) === null);
}

/**
 * Returns the default provider: the first of OpenAI, Anthropic, Google and the compatible servers that can be called,
 * because a user who configures one wants to use it. If there is none, the offline model answers (L3).
 */
export function providerByDefault(providers: ConfiguredProviders): string {
  return callableProviders(providers)[0] ?? "offline";
}
