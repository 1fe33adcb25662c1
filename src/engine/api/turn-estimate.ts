/** What the first call of a turn would be, and what it would cost. */
import type { ForeseenBudget } from "../../domain/budget.ts";
import type { ContextManifest } from "../../domain/context.ts";
import type { Warning } from "../../domain/errors.ts";

/** What the first call of a turn would be. Tools lead to further calls, which no estimate can foresee. */
export interface TurnEstimate {
  provider: string;
  model: string;
  /** The size of the window. Null: it is not known. */
  contextTokens: number | null;
  /** The tokens of the request, by kind. `context` is what the message has beside the instruction: code, files, rules, notes, results. */
  tokens: {
    prompt: number;
    tools: number;
    history: number;
    context: number;
    instruction: number;
    total: number;
    /** The part of `total` that the provider may still have in its cache. */
    cachedMax: number;
  };
  /** Null: the price of the model is not known. */
  price: EstimatedPrice | null;
  /** The budgets that the call would count for (F11), oldest first. */
  budgets: ForeseenBudget[];
  /** True if the history would be summarised first, which is a call of its own (C6). */
  isSummarisedFirst: boolean;
  manifest: ContextManifest;
  warnings: Warning[];
}

/** US dollars. */
export interface EstimatedPrice {
  /** The price if everything is cached that may be. */
  inputMinUsd: number;
  /** The price if nothing is cached, and all is written to the cache where that costs more. */
  inputMaxUsd: number;
  outputUsdPerThousand: number;
  /** The most that the call can cost. Null: the output has no limit. */
  maxUsd: number | null;
}
