/** The models that a chat can change to, in the words that every door understands (G3). */
import { modelInfo, modelsOf } from "../../../domain/models.ts";
import { callableProviders } from "../../../configuration/configured-providers.ts";
import type { ChatState } from "./chat-state.ts";

export interface ModelEntry {
  /** The words that choose it. */
  words: string;
  about: string;
}

/** Returns the known models of the providers in use, then the contexts. The provider that answers by default comes first. */
export async function modelEntries({ client, call }: ChatState): Promise<ModelEntry[]> {
  const contexts = await client.contexts.list();
  const agents = contexts.flatMap(({ kind, id, content }) => {
    const provider = kind === "agent" && content !== null && "provider" in content ? content.provider : undefined;
    return provider === undefined ? [] : [{ id, provider }];
  });
  const usual = agents.find(({ id }) => id === "default")?.provider ?? agents[0]?.provider;
  // The providers of another server are known by its contexts only.
  const own = call.server() === null ? callableProviders(call.loaded().configuration.providers) : [];
  const providers = new Set([usual, ...agents.map(({ provider }) => provider), ...own]);
  const models = [...providers].flatMap((provider) => {
    if (provider === undefined) return [];
    return modelsOf(provider).map((model): ModelEntry => {
      return { words: provider === usual ? model : `${provider}/${model}`, about: aboutOf(model) };
    });
  });
  const chosen = contexts
    .filter(({ kind, id }) => kind === "conversation" && id !== "default")
    .map(({ id, content }): ModelEntry => ({ words: `context:${id}`, about: content?.name ?? id }));
  return [...models, ...chosen];
}

function aboutOf(model: string): string {
  const info = modelInfo(model);
  if (info === null) return "";
  const { input, output } = info.price;
  return `${info.contextTokens.toLocaleString("en")} tokens · $${input} in, $${output} out per million`;
}
