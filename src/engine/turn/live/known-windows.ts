/**
 * The context windows of models (C4, C6). What a provider names in an error counts most. Then the configuration of the
 * provider counts, then the table of models. If none of them knows a model that refused a request, the list of the
 * provider's models does.
 */
import { limits } from "../../../domain/limits.ts";
import { modelFamily } from "../../../domain/models.ts";
import type { Provider } from "../../../providers/provider.ts";
import type { EngineDependencies } from "../../dependencies.ts";

/** A model of a provider. */
export interface CalledModel {
  provider: Pick<Provider, "name" | "account" | "contextTokens" | "models">;
  model: string;
}

export class KnownWindows {
  readonly #deps: Pick<EngineDependencies, "contextTokens">;
  readonly #learned = new Map<string, number>();
  /** The models whose windows were looked up in a list. */
  readonly #lookedUp = new Set<string>();

  constructor(deps: Pick<EngineDependencies, "contextTokens">) {
    this.#deps = deps;
  }

  /** Keeps the window that a provider named in an error, for as long as the process runs. */
  learn(called: CalledModel, tokens: number): void {
    this.#learned.set(keyOf(called), tokens);
  }

  /** Returns the window, from the provider's list of models if nothing else knows it. Never rejects. */
  async find(called: CalledModel): Promise<number | null> {
    const { provider, model } = called;
    const known = this.of(called);
    if (known !== null || provider.models === undefined || this.#lookedUp.has(keyOf(called))) return known;
    this.#lookedUp.add(keyOf(called));
    const listed = await provider.models(AbortSignal.timeout(limits.modelListTimeMs)).catch(() => []);
    const tokens = listed.find(({ id }) => modelFamily(id) === modelFamily(model))?.contextTokens ?? null;
    if (tokens !== null) this.learn(called, tokens);
    return tokens;
  }

  /** Returns the window in tokens, or null if it is unknown. */
  of(called: CalledModel): number | null {
    const { provider, model } = called;
    return (
      this.#learned.get(keyOf(called)) ?? provider.contextTokens?.(model) ?? this.#deps.contextTokens(model) ?? null
    );
  }
}

function keyOf({ provider, model }: CalledModel): string {
  return JSON.stringify([provider.name, provider.account, modelFamily(model)]);
}
