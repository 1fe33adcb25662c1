/** The models that a session can choose, in the words that every door understands (G3). */
import { groupedNumber } from "../../../system/grouped-number.ts";
import type { Session } from "../../../domain/session.ts";
import type { ChoosableModel, SessionChoices } from "../ports.ts";

/** A choice as earlier versions remembered it. */
export interface ChosenModel {
  agentContextId: string;
  model: string;
}

export interface OfferedChoice {
  /** The word that the client sends to choose it, and that the turn names. */
  value: string;
  name: string;
  description?: string;
  /** Another word for the same model. */
  alias?: string;
}

type ContextIds = Pick<Session, "agentContextId" | "conversationContextId">;

/**
 * Returns the models of the session's own provider, those of the other providers, and the other agent contexts. The first is the one
 * that is used if the user chooses none.
 */
export function modelChoices(session: ContextIds, choices: SessionChoices): OfferedChoice[] {
  const { agentContexts, conversationContexts, models } = choices;
  const own = providerOf(session.agentContextId, choices);
  const preferred = conversationContexts.find(({ id }) => id === session.conversationContextId)?.model ?? null;
  const isFirst = ({ provider, model }: ChoosableModel): boolean => provider === own && model === preferred;
  const missing = preferred === null || own === null || models.some(isFirst) ? [] : [unlisted(own, preferred)];
  const ofOwn = [
    ...missing,
    ...models.filter(isFirst),
    ...models.filter((one) => one.provider === own && !isFirst(one)),
  ];
  const others = models.filter((one) => one.provider !== own);
  // A context that has the name of its provider stands for the provider, whose models are listed.
  const contexts = agentContexts.filter(({ id, provider }) => id !== session.agentContextId && id !== provider);
  return [
    ...ofOwn.map((one) => ({ value: one.model, name: one.model, alias: wordOf(one), ...described(one) })),
    ...others.map((one) => ({ value: wordOf(one), name: `${one.model} (${one.provider})`, ...described(one) })),
    ...contexts.map(({ id, name }) => ({ value: `context:${id}`, name: `Agent context ${name}` })),
  ];
}

/** Returns the word of a remembered choice, or null if it is not available any more. */
export function chosenWord(
  remembered: string | ChosenModel | null,
  session: ContextIds,
  choices: SessionChoices,
): string | null {
  if (remembered === null || typeof remembered === "string") return remembered;
  const provider = providerOf(remembered.agentContextId, choices);
  const isOffered = choices.models.some((one) => one.provider === provider && one.model === remembered.model);
  if (provider === null || !isOffered) return null;
  const isOwn = provider === providerOf(session.agentContextId, choices);
  return isOwn ? remembered.model : `${provider}/${remembered.model}`;
}

function providerOf(agentContextId: string, { agentContexts }: SessionChoices): string | null {
  return agentContexts.find(({ id }) => id === agentContextId)?.provider ?? null;
}

function wordOf({ provider, model }: ChoosableModel): string {
  return `${provider}/${model}`;
}

function unlisted(provider: string, model: string): ChoosableModel {
  return { provider, model, contextTokens: null, price: null };
}

/** Returns the window and the price, as far as they are known. */
function described({ contextTokens, price }: ChoosableModel): { description?: string } {
  const window = contextTokens === null ? [] : [`${groupedNumber(Math.round(contextTokens / 1_000))}k tokens`];
  const cost = price === null ? [] : [`$${price.input} in, $${price.output} out per million`];
  const parts = [...window, ...cost];
  return parts.length === 0 ? {} : { description: parts.join(" · ") };
}
