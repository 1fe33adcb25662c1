/**
 * What a model's name in a request means (G3): a model of a provider, a provider's model, or a context. Every door passes
 * the words of the person on, so they mean the same everywhere.
 */
import type { AgentContext } from "../../domain/context.ts";
import { AptoveError } from "../../domain/errors.ts";
import { modelInfo } from "../../domain/models.ts";
import type { Providers, WorkspaceSettings } from "../dependencies.ts";
import { quoted } from "./resolve-contexts.ts";

/** The fields of a request that the words stand for. */
export interface ModelWords {
  agentContextId?: string;
  conversationContextId?: string;
  /** Absent if the context decides. */
  model?: string;
}

/** Providers whose own model names have no slash, so a slash can only separate a provider or a context from a model. */
const ownNames = new Set(["openai", "anthropic", "google", "offline"]);
/** Google writes its names also in this form. */
const googlePrefix = "models/";
/** The offline model answers without a key. It is no provider that a person configured. */
const offline = "offline";

/**
 * Adds an agent context for each provider that can be called and that no context names, with the provider's name as its
 * id. So a session can change to any configured provider.
 */
export function withProviderContexts<
  S extends Pick<WorkspaceSettings, "agentContexts" | "defaults"> & { providers: Providers },
>(settings: S): S {
  const { agentContexts, providers, defaults } = settings;
  const taken = new Set(agentContexts.flatMap(({ id, provider }) => [id, provider]));
  const usual = agentContexts.find(({ id }) => id === (defaults?.agentContextId ?? "default")) ?? agentContexts[0];
  if (usual === undefined) return settings;
  const more = [...providers.keys()].filter((name) => name !== offline && !taken.has(name));
  return {
    ...settings,
    agentContexts: [...agentContexts, ...more.map((name) => ({ ...usual, id: name, name, provider: name }))],
  };
}

export interface KnownForModels {
  agentContexts: readonly AgentContext[];
  conversationContexts: readonly { id: string }[];
  /** The agent context that counts if the words name none. */
  current: AgentContext;
  /** True if the request names the agent context itself. Then a name without a provider stays with it. */
  isNamed: boolean;
}

/**
 * Reads `claude-sonnet-5`, `anthropic/claude-sonnet-5`, `review/claude-sonnet-5` and `context:review`. Throws
 * `context_unknown`, and `provider_unknown` for a provider that is not configured.
 */
export function readModelWords(words: string, known: KnownForModels): ModelWords {
  if (words.startsWith("context:")) return contextOf(words.slice("context:".length), known);
  const slash = words.indexOf("/");
  const prefix = words.slice(0, Math.max(0, slash));
  const { current } = known;
  if (slash > 0) {
    const context = contextFor(prefix, known);
    if (context !== null) return { agentContextId: context.id, model: words.slice(slash + 1) };
    if (ownNames.has(current.provider) && !words.startsWith(googlePrefix)) {
      throw new AptoveError(
        "provider_unknown",
        `the model ${JSON.stringify(words)} names ${JSON.stringify(prefix)}, which is no configured provider or context; known are: ${quoted(names(known))}`,
      );
    }
  }
  const provider = modelInfo(words)?.provider;
  const isElsewhere = provider !== undefined && provider !== current.provider && ownNames.has(current.provider);
  const other = isElsewhere && !known.isNamed ? contextFor(provider, known) : null;
  return { ...(other !== null && { agentContextId: other.id }), model: words };
}

function contextOf(id: string, known: KnownForModels): ModelWords {
  if (known.conversationContexts.some((context) => context.id === id)) return { conversationContextId: id };
  if (known.agentContexts.some((context) => context.id === id)) return { agentContextId: id };
  const ids = [...known.conversationContexts, ...known.agentContexts].map((context) => context.id);
  throw new AptoveError(
    "context_unknown",
    `there is no context ${JSON.stringify(id)}; known are: ${quoted(new Set(ids))}`,
  );
}

/** Returns the agent context with this id, else one with this provider: the current one if it fits. */
function contextFor(name: string, { agentContexts, current }: KnownForModels): AgentContext | null {
  if (current.provider === name || current.id === name) return current;
  const byId = agentContexts.find(({ id }) => id === name);
  return byId ?? agentContexts.find(({ provider }) => provider === name) ?? null;
}

function names({ agentContexts }: KnownForModels): Set<string> {
  return new Set(agentContexts.flatMap(({ id, provider }) => [provider, id]));
}
