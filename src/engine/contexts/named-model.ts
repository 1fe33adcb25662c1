/** What a model's name in a request stands for. The words are the same on every door (G3). */
import { modelInfo } from "../../domain/models.ts";
import type { Provider } from "../../providers/provider.ts";
import type { WorkspaceSettings } from "../dependencies.ts";
import type { TurnRequest } from "../engine.ts";

export interface NamedModel {
  /** The contexts that the name stands for; empty if it names a model. */
  contexts: Pick<TurnRequest, "agentContextId" | "conversationContextId">;
  /** The provider that the name stands for. Null: that of the agent context. */
  provider: Provider | null;
  /** Null: the default model. */
  model: string | null;
}

/**
 * Reads `context:<id>`, `<provider>/<model>` or the name of a model. A model that is known to belong to another configured provider
 * of a vendor is called there. `own` is the provider of the session's agent context.
 */
export async function namedModel(
  word: string | undefined,
  own: string,
  { agentContexts, conversationContexts, providers }: WorkspaceSettings,
): Promise<NamedModel> {
  const named: NamedModel = { contexts: {}, provider: null, model: word ?? null };
  if (word === undefined) return named;
  const context = /^context:(.+)$/s.exec(word)?.[1];
  if (context !== undefined) {
    const isConversation = conversationContexts.some(({ id }) => id === context);
    const isAgent = agentContexts.some(({ id }) => id === context);
    // An unknown id is refused like that of any agent context, with the known ones.
    const agent = isAgent || !isConversation ? { agentContextId: context } : {};
    return { ...named, model: null, contexts: { ...agent, ...(isConversation && { conversationContextId: context }) } };
  }
  const [, prefix, rest] = /^([^/]+)\/(.+)$/s.exec(word) ?? [];
  const known = [...providers.keys()];
  if (prefix !== undefined && rest !== undefined && known.includes(prefix)) {
    return { ...named, provider: (await providers.get(prefix)) ?? null, model: rest };
  }
  const vendor = modelInfo(word)?.provider;
  const isElsewhere = vendor !== undefined && vendor !== own && known.includes(vendor) && vendors.has(own);
  return isElsewhere ? { ...named, provider: (await providers.get(vendor)) ?? null } : named;
}

/** The providers that only offer models of their own. Any other server may offer a model of any name. */
const vendors = new Set(["openai", "anthropic", "google", "offline"]);
