/**
 * The providers of the configuration: where their keys are looked up, which of them can be called, and which
 * one answers when nothing names one.
 */
import type { MergedValues } from "./merged-values.ts";

/** A provider that wants a key. */
export interface KeyedProvider {
  apiKey: string | null;
  /** Name of the environment variable that the key is read from. */
  apiKeyEnv: string;
  /** Null: the provider's own. */
  baseUrl: string | null;
  /** Called where nothing else names one. */
  model: string;
}

/** A server that speaks OpenAI's chat completions; its id is its name as a provider. */
export interface CompatibleServer {
  id: string;
  baseUrl: string | null;
  model: string | null;
  /** Null: it asks for none. */
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

/** The providers that there are without being configured; those of `providers.compatible` come to them by name. */
export const builtInProviders = ["offline", "openai", "anthropic", "google"] as const;

/** Where the key of a provider is looked up when `api_key_env` names no variable; the first that is set counts. */
const usualKeyVariables = {
  openai: ["OPENAI_API_KEY"],
  anthropic: ["ANTHROPIC_API_KEY"],
  // Both are usual, and Google's own programs take them in this order.
  google: ["GOOGLE_API_KEY", "GEMINI_API_KEY"],
} as const;
type KeyedName = keyof typeof usualKeyVariables;
/** In the order in which they are taken when nothing names one. */
const keyedNames = ["openai", "anthropic", "google"] as const satisfies KeyedName[];

/** Each is a row of domain/models.ts, so that its window and its price are known (C4). */
const defaultModels: Record<KeyedName, string> = {
  openai: "gpt-6.2-sol",
  anthropic: "claude-sonnet-5",
  google: "gemini-3.8-flash",
};

/**
 * The variables that may hold the key of a provider, by the key's path. `named` gives what `api_key_env` says
 * in the other layers: then that variable is the only one.
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
  for (const name of keyedNames) add(name, usualKeyVariables[name]);
  for (const name of servers) add(`compatible.${name}`, []);
  return found;
}

export function settleProviders(values: MergedValues): ConfiguredProviders {
  const keyed = (name: KeyedName): KeyedProvider => ({
    apiKey: values.text(`providers.${name}.api_key`),
    apiKeyEnv: values.text(`providers.${name}.api_key_env`) ?? usualKeyVariables[name][0],
    baseUrl: values.text(`providers.${name}.base_url`),
    model: values.text(`providers.${name}.model`) ?? defaultModels[name],
  });
  const server = (id: string): CompatibleServer => ({
    id,
    baseUrl: values.text(`providers.compatible.${id}.base_url`),
    model: values.text(`providers.compatible.${id}.model`),
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

/** What keeps a provider from being called, and how to mend it; null: nothing that the configuration tells. */
export function providerFault(providers: ConfiguredProviders, name: string): string | null {
  const keyed = keyedNames.find((each) => each === name);
  if (keyed !== undefined) {
    const { apiKey, apiKeyEnv } = providers[keyed];
    return apiKey === null ? `has no key: set ${apiKeyEnv}, or providers.${keyed}.api_key in config.toml` : null;
  }
  const server = providers.compatible.find(({ id }) => id === name);
  if (server === undefined) return null;
  const key = `providers.compatible.${name}`;
  if (server.baseUrl === null) return `has no address: set ${key}.base_url in config.toml`;
  if (server.model === null) return `has no model: set ${key}.model in config.toml`;
  const lacksKey = server.apiKey === null && server.apiKeyEnv !== null;
  return lacksKey ? `has no key: set ${server.apiKeyEnv}, or leave out ${key}.api_key_env` : null;
}

/** Names of the providers that can be called and whose caller gave something for it: a key, or an address. */
export function callableProviders(providers: ConfiguredProviders): string[] {
  const names = [...keyedNames, ...providers.compatible.map(({ id }) => id)];
  return names.filter((name) => providerFault(providers, name) === null);
}

/**
 * Whoever gave a key, or the address of a server, wants it used: the first of OpenAI, Anthropic, Google and the
 * compatible servers that can be called. Where there is none the offline model answers (L3).
 */
export function providerByDefault(providers: ConfiguredProviders): string {
  return callableProviders(providers)[0] ?? "offline";
}
