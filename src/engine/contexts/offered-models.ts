/** The models that the configured providers really offer, with what is known about them (G3). */
import type { Caller } from "../../domain/caller.ts";
import { limits } from "../../domain/limits.ts";
import { modelInfo, modelsOf, type ModelInfo } from "../../domain/models.ts";
import type { ListedModel, Provider } from "../../providers/provider.ts";
import { workspaceFor } from "../access/access.ts";
import type { EngineDependencies } from "../dependencies.ts";
import type { OfferedModel } from "../engine.ts";
import { settingsOf } from "./resolve-contexts.ts";

interface KeptList {
  at: number;
  models: Promise<readonly ListedModel[]>;
}

/** The lists that were read, by provider: each belongs to one account. */
const kept = new WeakMap<Provider, KeptList>();

export async function offeredModels(
  deps: EngineDependencies,
  caller: Caller,
  workspaceId: string | null,
): Promise<OfferedModel[]> {
  const { providers, agentContexts } = await settingsOf(deps, caller, workspaceFor(caller, workspaceId));
  // The offline model is offered only where a context names it.
  const isOffered = (name: string): boolean =>
    name !== "offline" || agentContexts.some(({ provider }) => provider === name);
  const found = await Promise.all([...providers.keys()].filter(isOffered).map((name) => providers.get(name)));
  const lists = await Promise.all(
    found.map(async (one) => (one === undefined ? [] : await modelsOfProvider(deps, one))),
  );
  return lists.flat();
}

async function modelsOfProvider(deps: EngineDependencies, provider: Provider): Promise<OfferedModel[]> {
  const listed = await listOf(deps, provider);
  const table = modelsOf(provider.name).map((id): ListedModel => ({ id, contextTokens: null }));
  // A list that could not be read says nothing about what is offered, so the known models stand in for it.
  const all = [{ id: provider.defaultModel, contextTokens: null }, ...(listed.length === 0 ? table : listed)];
  const byId = new Map<string, ListedModel>();
  for (const model of all)
    byId.set(model.id, { ...model, contextTokens: model.contextTokens ?? byId.get(model.id)?.contextTokens ?? null });
  return [...byId.values()].map(({ id, contextTokens }) => {
    const info = modelInfo(id);
    const window = provider.contextTokens?.(id) ?? contextTokens ?? info?.contextTokens ?? null;
    return {
      provider: provider.name,
      model: id,
      contextTokens: window,
      price: provider.isFree === true ? free : (info?.price ?? null),
      source: sourceOf(info),
    };
  });
}

/** The price of a model that is in this process. */
const free = { input: 0, cached: 0, output: 0 };

function sourceOf(info: ModelInfo | null): OfferedModel["source"] {
  return info === null ? null : { page: info.source, asOf: info.asOf };
}

async function listOf(deps: EngineDependencies, provider: Provider): Promise<readonly ListedModel[]> {
  const now = deps.monotonic();
  const before = kept.get(provider);
  if (before !== undefined && now - before.at < limits.modelListMs) return await before.models;
  const signal = AbortSignal.timeout(limits.modelListTimeMs);
  const models = (provider.models?.(signal) ?? Promise.resolve([])).catch((error: unknown) => {
    deps.report(`the models of provider "${provider.name}" could not be listed`, error);
    return [];
  });
  kept.set(provider, { at: now, models });
  return await models;
}
