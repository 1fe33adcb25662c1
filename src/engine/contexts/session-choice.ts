/**
 * What a person chose for a session: its contexts, its model and its settings (S9). The choice counts for every later
 * turn until it is changed. A request may change it for its own turn (G2).
 */
import type { ModelSettings } from "../../domain/context.ts";
import type { Session, StandingChoice } from "../../domain/session.ts";
import type { WorkspaceSettings } from "../dependencies.ts";
import { readModelWords } from "./model-words.ts";
import { resolveContexts } from "./resolve-contexts.ts";

type Known = Pick<WorkspaceSettings, "agentContexts" | "conversationContexts" | "defaults">;

/** The fields of a request or a patch that choose. An absent field chooses nothing. */
export interface ChoiceChange {
  agentContextId?: string;
  conversationContextId?: string;
  /** The words for a model or a context (G3). Null: the contexts decide. */
  model?: string | null;
  settings?: ModelSettings;
}

/** Returns the choice that counts before a request changes it: that of the session, else the defaults. */
export function standingChoice({ defaults }: Known, session: Session | null): StandingChoice {
  const { agentContextId = "default", conversationContextId = "default" } = session ?? defaults ?? {};
  const { model = null, settings = {} } = session ?? {};
  return { agentContextId, conversationContextId, model, settings };
}

/** Returns the contexts of a choice, without what was chosen beside them. */
export function contextsAlone({ agentContextId, conversationContextId }: StandingChoice): StandingChoice {
  return { agentContextId, conversationContextId, model: null, settings: {} };
}

/**
 * Returns the choice after a change. Another context clears the model and the settings that were chosen before it (G2).
 * The settings of the change are added to the others. Throws `context_unknown`, `provider_unknown`.
 */
export function changedChoice(known: Known, before: StandingChoice, change: ChoiceChange): StandingChoice {
  const named = withContexts(before, change);
  const choice = change.model === undefined ? named : withModel(known, named, { ...change, model: change.model });
  resolveContexts(known, choice, null);
  return { ...choice, settings: { ...choice.settings, ...change.settings } };
}

function withContexts(
  before: StandingChoice,
  { agentContextId = before.agentContextId, conversationContextId = before.conversationContextId }: ChoiceChange,
): StandingChoice {
  const isSame = agentContextId === before.agentContextId && conversationContextId === before.conversationContextId;
  return isSame ? before : contextsAlone({ ...before, agentContextId, conversationContextId });
}

function withModel(
  known: Known,
  choice: StandingChoice,
  { model, agentContextId }: ChoiceChange & { model: string | null },
): StandingChoice {
  if (model === null) return { ...choice, model };
  const { agentContext: current } = resolveContexts(known, choice, null);
  const meaning = readModelWords(model, { ...known, current, isNamed: agentContextId !== undefined });
  if (meaning.model === undefined) return withContexts(choice, meaning);
  // Later turns read the words without the request, so they must name the context that the request named.
  const later = readModelWords(model, { ...known, current, isNamed: false });
  const isStable = later.agentContextId === meaning.agentContextId;
  return { ...choice, model: isStable ? model : `${current.id}/${meaning.model}` };
}

/** Returns the contexts and the model that a choice stands for. Without a model, the conversation context decides. */
export function meaningOf(known: Known, choice: StandingChoice) {
  const { agentContext: current, conversationContext } = resolveContexts(known, choice, null);
  const { agentContextId, model } =
    choice.model === null ? {} : readModelWords(choice.model, { ...known, current, isNamed: false });
  const ids = { ...choice, ...(agentContextId !== undefined && { agentContextId }) };
  return { ...resolveContexts(known, ids, null), conversationContext, model };
}
