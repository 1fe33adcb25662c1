/** The models that a chat can change to, in the words that every door understands (G3). */
import { groupedNumber } from "../../../system/grouped-number.ts";
import type { ChatState } from "./chat-state.ts";

export interface ModelEntry {
  /** The words that choose it. */
  words: string;
  about: string;
}

/**
 * Returns the models that the providers really offer, then the contexts. Those of the provider that answers by default come
 * first.
 */
export async function modelEntries({ client, workspaceId }: ChatState): Promise<ModelEntry[]> {
  const [contexts, offered] = await Promise.all([
    client.contexts.list(),
    client.contexts.models(workspaceId === null ? {} : { workspaceId }),
  ]);
  const providers = contexts.flatMap(({ kind, id, content }) => {
    const provider = kind === "agent" && content !== null && "provider" in content ? content.provider : undefined;
    return provider === undefined ? [] : [{ id, provider }];
  });
  const usual = (providers.find(({ id }) => id === "default") ?? providers[0])?.provider;
  const isUsual = ({ provider }: { provider: string }): boolean => provider === usual;
  const models = [...offered.filter(isUsual), ...offered.filter((one) => !isUsual(one))];
  const chosen = contexts
    .filter(({ kind, id }) => kind === "conversation" && id !== "default")
    .map(({ id, content }): ModelEntry => ({ words: `context:${id}`, about: content?.name ?? id }));
  return [
    ...models.map((one) => ({ words: isUsual(one) ? one.model : `${one.provider}/${one.model}`, about: aboutOf(one) })),
    ...chosen,
  ];
}

type Offered = Awaited<ReturnType<ChatState["client"]["contexts"]["models"]>>[number];

function aboutOf({ contextTokens, price }: Offered): string {
  const window = contextTokens === null ? [] : [`${groupedNumber(contextTokens)} tokens`];
  const cost = price === null ? [] : [`$${price.input} in, $${price.output} out per million`];
  return [...window, ...cost].join(" · ");
}
