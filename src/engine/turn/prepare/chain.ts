/** Decides whether a turn may continue the provider's own memory of its parent (C2). It is a pure function. */
import { limits } from "../../../domain/limits.ts";
import { modelFamily } from "../../../domain/models.ts";
import type { ContinuableTurn } from "../../../domain/turn.ts";
import type { Provider } from "../../../providers/provider.ts";

export interface ChainQuestion {
  parent: ContinuableTurn;
  provider: Pick<Provider, "name" | "account">;
  model: string;
  promptHash: string;
  toolsHash: string;
  /** True if the history has a fact that was forgotten since then (M3). */
  forgets: boolean;
  now: number;
}

/** The decision. `use` is the response to continue; `rebuild` states why the history is sent instead. */
export type ChainDecision = { use: string } | { rebuild: string; because: "memory" | "prompt" | "tools" };

/** The provider's name of a turn that called no model: a conversation that took place elsewhere (W5). */
export const noProvider = "import";

export function decideChain({
  parent,
  provider,
  model,
  promptHash,
  toolsHash,
  forgets,
  now,
}: ChainQuestion): ChainDecision {
  const { responseId, expiresAt, account } = parent.chain;
  if (parent.provider === noProvider) return { rebuild: "the conversation took place elsewhere", because: "memory" };
  if (parent.provider !== provider.name) return { rebuild: `the provider was ${parent.provider}`, because: "memory" };
  if (responseId === null) return { rebuild: whyForgotten(parent), because: "memory" };
  if (account !== provider.account) return { rebuild: "the provider account has changed", because: "memory" };
  if (modelFamily(parent.model) !== modelFamily(model))
    return { rebuild: `the model was ${parent.model}`, because: "memory" };
  if (parent.manifest.promptHash !== promptHash) return { rebuild: "the boot prompt changed", because: "prompt" };
  if (parent.manifest.toolsHash !== toolsHash) return { rebuild: "the list of tools changed", because: "tools" };
  // The provider cannot forget a part of what it knows.
  if (forgets) return { rebuild: "a fact that it had was forgotten", because: "memory" };
  if (expiresAt !== null && now >= expiresAt - limits.chainMarginMs) {
    return { rebuild: "the provider's memory of the session is about to expire", because: "memory" };
  }
  return { use: responseId };
}

function whyForgotten(parent: ContinuableTurn): string {
  if (parent.status === "failed") return "the last turn failed";
  return parent.stopReason === "interrupted"
    ? "the last answer was interrupted"
    : "the provider kept no earlier response";
}
