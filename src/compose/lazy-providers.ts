/** The providers of a configuration. Each is opened when the first turn needs it, because most commands run none. */
import assert from "node:assert/strict";
import { isDeepStrictEqual } from "node:util";
import type { Providers } from "../engine/dependencies.ts";
import type { HttpProviderOptions } from "../providers/http-connection.ts";
import type { Provider } from "../providers/provider.ts";
import {
  builtInProviders,
  callableProviders,
  providerFault,
  type BuiltInProvider,
  type ConfiguredProviders,
  type KeyedProvider,
} from "../configuration/configured-providers.ts";

export interface LazyProviders extends Providers {
  /** The configuration of these providers. */
  configured: ConfiguredProviders;
}

/**
 * Adds the providers in `given`, which replace configured ones of the same name. A provider with the same configuration
 * as in `shared` is taken from there: a workspace that changes one provider shares all the others.
 */
export function lazyProviders(
  configured: ConfiguredProviders,
  given: readonly Provider[],
  shared: LazyProviders | null,
): LazyProviders {
  const makers = new Map<string, () => Promise<Provider>>();
  for (const name of ["offline", ...callableProviders(configured)]) {
    makers.set(
      name,
      once(() => openProvider(configured, name)),
    );
  }
  for (const provider of given) makers.set(provider.name, () => Promise.resolve(provider));
  const isShared = (name: string): boolean =>
    shared !== null && isDeepStrictEqual(valuesOf(configured, name), valuesOf(shared.configured, name));
  return {
    configured,
    keys: () => makers.keys(),
    get: (name) => (makers.has(name) && isShared(name) ? shared?.get(name) : makers.get(name)?.()),
    fault: (name) => (makers.has(name) ? null : providerFault(configured, name)),
  };
}

/** Calls `make` once. A failure is kept too, because the configuration behind it does not change. */
function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | null = null;
  return () => (made ??= make());
}

/** Returns all settings that decide what a provider does. */
function valuesOf(configured: ConfiguredProviders, name: string): unknown {
  const { compatible, ...builtIn } = configured;
  return Object.hasOwn(builtIn, name)
    ? builtIn[name as keyof typeof builtIn]
    : compatible.find(({ id }) => id === name);
}

/** Opens each built-in provider. */
const openers: { [Name in BuiltInProvider]: (settings: ConfiguredProviders[Name]) => Promise<Provider> } = {
  offline: async ({ delayMs }) => {
    const { offlineProvider } = await import("../providers/offline/offline.ts");
    return offlineProvider({ tokenDelayMs: delayMs });
  },
  openai: async (settings) => {
    const { openaiProvider } = await import("../providers/openai/openai.ts");
    const { organization } = settings;
    return openaiProvider({ ...keyed(settings), ...(organization !== null && { organization }) });
  },
  anthropic: async (settings) => {
    const { anthropicProvider } = await import("../providers/anthropic/anthropic.ts");
    const { maxOutputTokens } = settings;
    return anthropicProvider({ ...keyed(settings), ...(maxOutputTokens !== null && { maxOutputTokens }) });
  },
  google: async (settings) => {
    const { googleProvider } = await import("../providers/google/google.ts");
    return googleProvider(keyed(settings));
  },
};

async function openProvider(providers: ConfiguredProviders, name: string): Promise<Provider> {
  const builtIn = builtInProviders.find((each) => each === name);
  if (builtIn !== undefined) return await openBuiltIn(providers, builtIn);
  const { compatibleProvider } = await import("../providers/compatible/compatible.ts");
  return compatibleProvider({ name, ...serverOf(providers, name) });
}

/** The type parameter connects the opener of a provider with the settings of the same provider. */
async function openBuiltIn<Name extends BuiltInProvider>(
  providers: ConfiguredProviders,
  name: Name,
): Promise<Provider> {
  return await openers[name](providers[name]);
}

/** Returns the options of a provider that can be called, which therefore has a key. */
function keyed({ apiKey, baseUrl, model, contextTokens }: KeyedProvider): HttpProviderOptions & { apiKey: string } {
  assert(apiKey !== null);
  return { apiKey, model, contextTokens, ...(baseUrl !== null && { baseUrl }) };
}

function serverOf(providers: ConfiguredProviders, name: string): HttpProviderOptions & { baseUrl: string } {
  const server = providers.compatible.find(({ id }) => id === name);
  assert(server !== undefined && server.baseUrl !== null && server.model !== null);
  const { apiKey, baseUrl, model, contextTokens } = server;
  return { baseUrl, model, contextTokens, ...(apiKey !== null && { apiKey }) };
}
