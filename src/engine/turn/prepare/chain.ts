/** Whether a turn may continue the provider's own memory of its parent (C2). Pure. */
import { limits } from "../../../domain/limits.ts";
import { modelFamily } from "../../../domain/models.ts";
import type { AwaitingTurn, CompletedTurn } from "../../../domain/turn.ts";
import type { Provider } from "../../../providers/provider.ts";

export interface ChainQuestion {
  parent: CompletedTurn | AwaitingTurn;
  provider: Pick<Provider, "name" | "account">;
  model: string;
  promptHash: string;
  toolsHash: string;
  now: number;
}

/** `use` carries the response to continue; `rebuild` says why the history is sent instead. */
export type ChainDecision = { use: string } | { rebuild: string; because: "memory" | "prompt" | "tools" };

/** In place of a provider's name, for a turn that no model was called for: a conversation that took place elsewhere (W5). */
export const noProvider = "import";

export function decideChain({ parent, provider, model, promptHash, toolsHash, now }: ChainQuestion): ChainDecision {
  const { responseId, expiresAt, account } = parent.chain;
  if (parent.provider === noProvider) return { rebuild: "the conversation took place elsewhere", because: "memory" };
  if (parent.provider !== provider.name) return { rebuild: `the provider was ${parent.provider}`, because: "memory" };
  if (responseId === null) {
    const why =
      parent.stopReason === "interrupted" ? "the last answer was interrupted" : "the provider kept no earlier response";
    return { rebuild: why, because: "memory" };
  }
  if (account !== provider.account) return { rebuild: "the provider account is another one", because: "memory" };
  if (modelFamily(parent.model) !== modelFamily(model))
    return { rebuild: `the model was ${parent.model}`, because: "memory" };
  if (parent.manifest.promptHash !== promptHash) return { rebuild: "the boot prompt changed", because: "prompt" };
  if (parent.manifest.toolsHash !== toolsHash) return { rebuild: "the list of tools changed", because: "tools" };
  if (expiresAt !== null && now >= expiresAt - limits.chainMarginMs) {
    return { rebuild: "the provider's memory of the session is about to expire", because: "memory" };
  }
  return { use: responseId };
}
