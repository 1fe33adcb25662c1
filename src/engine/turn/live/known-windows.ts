/**
 * The context windows of models (C4, C6). What a provider names in an error counts most. Then the configuration of the
 * provider counts, then the table of models.
 */
import { modelFamily } from "../../../domain/models.ts";
import type { Provider } from "../../../providers/provider.ts";
import type { EngineDependencies } from "../../dependencies.ts";

/** A model of a provider. */
export interface CalledModel {
  provider: Pick<Provider, "name" | "account" | "contextTokens">;
  model: string;
}

export class KnownWindows {
  readonly #deps: Pick<EngineDependencies, "contextTokens">;
  readonly #learned = new Map<string, number>();

  constructor(deps: Pick<EngineDependencies, "contextTokens">) {
    this.#deps = deps;
  }

  /** Keeps the window that a provider named in an error, for as long as the process runs. */
  learn(called: CalledModel, tokens: number): void {
    this.#learned.set(keyOf(called), tokens);
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
