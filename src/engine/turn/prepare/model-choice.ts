/** The contexts that count for a turn, and the model that answers (G2, G3). */
import type { AgentContext, ConversationContext } from "../../../domain/context.ts";
import { AptoveError } from "../../../domain/errors.ts";
import { modelInfo, modelsOf } from "../../../domain/models.ts";
import type { Provider } from "../../../providers/provider.ts";
import { knownContexts } from "../../contexts/known-contexts.ts";
import { withProviderContexts } from "../../contexts/model-words.ts";
import { modeOf, quoted } from "../../contexts/resolve-contexts.ts";
import { changedChoice, contextsAlone, meaningOf, standingChoice } from "../../contexts/session-choice.ts";
import type { EngineDependencies, WorkspaceSettings } from "../../dependencies.ts";
import type { AcceptInput } from "./accept-input.ts";
import type { ChosenContexts, ModelChoice } from "./accepted-request.ts";

/** The contexts without the boot prompt, which needs the rules of the repository. */
export type ContextsOfTurn = Omit<ChosenContexts, "prompt" | "promptHash">;

/** Looks up the contexts that count, and the model that they or the request name. */
export async function chosenForTurn(
  deps: EngineDependencies,
  { caller, request, session, given, newestContexts }: AcceptInput,
  settings: WorkspaceSettings,
): Promise<{ contexts: ContextsOfTurn; model: ModelChoice }> {
  const known = await knownContexts({ records: deps.records, newestContexts }, caller, withProviderContexts(settings));
  const standing = standingChoice(known, session);
  // A repeated turn asks for everything that it had, so nothing that was chosen since then is added (T7).
  const choice = changedChoice(known, given === undefined ? standing : contextsAlone(standing), request);
  const kept = given === undefined ? choice : changedChoice(known, standing, given);
  const forSession = request.isSettingsOnce === true ? { ...kept, settings: standing.settings } : kept;
  const { agentContext, conversationContext, model: chosen } = meaningOf(known, choice);
  const provider = await providerOf(settings, agentContext);
  const mode = modeOf(conversationContext, request.mode ?? "ask");
  const contextRefs = {
    agentContext: known.refOf("agent", agentContext),
    conversationContext: known.refOf("conversation", conversationContext),
  };
  const model: ModelChoice = {
    provider,
    model: chosen === undefined ? modelOf(conversationContext, provider) : chosenOf(provider, chosen),
    settings: { ...conversationContext.settings, ...choice.settings },
    history: provider.remembers && deps.isReplayOnly !== true ? (conversationContext.history ?? "chain") : "replay",
    compacts: request.compact === true,
  };
  return { contexts: { agentContext, conversationContext, contextRefs, mode, forSession }, model };
}

/** The model of a conversation context belongs to one provider. Another provider's own default counts there. */
export function modelOf({ model }: ConversationContext, provider: Provider): string {
  const owner = model === null ? undefined : modelInfo(model)?.provider;
  const isOthers = owner !== undefined && owner !== provider.name && modelsOf(provider.name).length > 0;
  return isOthers ? provider.defaultModel : (model ?? provider.defaultModel);
}

/** An answer of the offline model must not pass for one of another model (G3, L3). Throws `provider_unknown`. */
export function chosenOf(provider: Provider, model: string): string {
  if (provider.isFree !== true || model === provider.defaultModel) return model;
  const detail = `${JSON.stringify(model)} needs the key of a provider: aptove login; without one only ${JSON.stringify(provider.defaultModel)} answers`;
  throw new AptoveError("provider_unknown", detail);
}

export async function providerOf({ providers }: WorkspaceSettings, agentContext: AgentContext): Promise<Provider> {
  const provider = await providers.get(agentContext.provider);
  if (provider !== undefined) return provider;
  const fault = providers.fault?.(agentContext.provider) ?? null;
  const where = `agent context "${agentContext.id}" names the provider "${agentContext.provider}"`;
  const known = `the configured providers are: ${quoted(providers.keys())}`;
  throw new AptoveError("provider_unknown", fault === null ? `${where}; ${known}` : `${where}, which ${fault}`);
}
