/** The model that makes a summary: the one that is named, else that of the session (G2, G3, M5). */
import type { Caller } from "../../domain/caller.ts";
import type { Session } from "../../domain/session.ts";
import type { Provider } from "../../providers/provider.ts";
import { workspaceFor } from "../access/access.ts";
import { knownContexts } from "../contexts/known-contexts.ts";
import { withProviderContexts } from "../contexts/model-words.ts";
import { settingsOf } from "../contexts/resolve-contexts.ts";
import { changedChoice, meaningOf, standingChoice } from "../contexts/session-choice.ts";
import type { EngineDependencies } from "../dependencies.ts";
import { chosenOf, modelOf, providerOf } from "../turn/prepare/model-choice.ts";

export async function summaryModel(
  deps: EngineDependencies,
  caller: Caller,
  { session, words }: { session: Session; words: string | undefined },
): Promise<{ provider: Provider; model: string }> {
  const settings = await settingsOf(deps, caller, workspaceFor(caller, session.workspaceId));
  const known = await knownContexts(deps, caller, withProviderContexts(settings));
  const choice = changedChoice(known, standingChoice(known, session), words === undefined ? {} : { model: words });
  const { agentContext, conversationContext, model } = meaningOf(known, choice);
  const provider = await providerOf(settings, agentContext);
  return { provider, model: model === undefined ? modelOf(conversationContext, provider) : chosenOf(provider, model) };
}
