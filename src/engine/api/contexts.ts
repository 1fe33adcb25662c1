/** Contexts and indexes (G1, G2, Q1). */
import type { RepositoryRuns } from "../../retrieval/index-runs.ts";
import type { IndexInfo, IndexJob, IndexSummary } from "../../retrieval/retriever.ts";
import type { AgentContext, ContextKind, ContextVersionFacts, ConversationContext } from "../../domain/context.ts";
import type { Caller } from "../../domain/caller.ts";

/** The retrieval indexes of the caller's org, in the store that the default agent context names. */
export interface Indexes {
  /**
   * Indexes a repository and returns what was indexed. Members and admins may do this. Throws `forbidden` for a reader,
   * `index_missing` if no index is configured, and what `Retriever.index` throws.
   */
  index(caller: Caller, job: Omit<IndexJob, "orgId">): Promise<IndexSummary>;
  /** Returns the indexes of the caller's org. Any caller may read them. */
  list(caller: Caller): Promise<IndexInfo[]>;
  /**
   * Returns which repositories of the caller's org are being indexed, by whichever process, and how the last runs ended. Any
   * caller may read it. Empty if the index does not note its runs.
   */
  runs(caller: Caller): Promise<RepositoryRuns[]>;
  /**
   * Begins to index a repository again from the folder that it was indexed from, and does not wait for the end: `runs` shows it.
   * If this engine indexes it already, nothing changes. Only an admin who runs the server may do this. Throws `forbidden`,
   * `not_found` if it has no index, `repository_invalid` if this server has no working copy of it.
   */
  start(caller: Caller, of: { repo: string; rebuild?: boolean }): Promise<void>;
  /**
   * Stops a run that `start` began. The former index stays as it was. Only an admin who runs the server may do this. Throws
   * `forbidden`, `not_found` if this engine has no such run.
   */
  stop(caller: Caller, repo: string): Promise<void>;
  /**
   * Returns the indexed files of a repository whose path has this part, the best first. Throws `index_missing` and what
   * `Retriever.search` throws.
   */
  files(caller: Caller, of: { repo: string; part: string }): Promise<string[]>;
}

/**
 * Contexts. They come from the configuration, and from the records of the caller's org, which replace those of the
 * configuration (G1).
 */
export interface ContextRegistry {
  /** Returns the contexts that the caller's turns can name in a workspace. Null: outside of any workspace. */
  known(caller: Caller, workspaceId: string | null): Promise<KnownContexts>;
  /** Returns every context outside of any workspace, of both kinds, sorted by kind and id. */
  list(caller: Caller): Promise<ContextEntry[]>;
  /**
   * Returns the current context with this id. With `version`, it returns that version of the org's record, which may be
   * retired. Throws `not_found`.
   */
  get(caller: Caller, of: ContextChoice & { version?: number }): Promise<ContextEntry>;
  /**
   * Makes a new version of the org's record, and returns it. `entry` is the whole content: a field that it leaves out
   * takes its built-in value. With `expected`, that version must be the newest. Without it, there must be no version
   * yet, or the newest one must be retired. Only an admin may do this. Throws `forbidden`, `context_invalid`,
   * `context_changed`.
   */
  put(caller: Caller, edit: ContextChoice & { entry: ContextFields; expected?: number }): Promise<ContextEntry>;
  /**
   * Retires the org's record, and returns the new version. The context of the configuration with the same id is used
   * again. If there is none, turns that name the id are refused. Only an admin may do this. Throws `forbidden`,
   * `not_found`, `context_changed`.
   */
  retire(caller: Caller, of: ContextChoice & { expected?: number }): Promise<ContextVersionFacts>;
  /**
   * Returns the versions of the org's record, newest first. A context of the configuration that was never edited has none. Throws
   * `not_found` if there is neither.
   */
  versions(
    caller: Caller,
    of: ContextChoice,
    page: { before?: number; limit?: number },
  ): Promise<ContextVersionFacts[]>;
  /**
   * Returns the models that the configured providers offer, each provider's default first (G3). A list that cannot be read is
   * replaced by the models that are known. The lists are kept for an hour.
   */
  models(caller: Caller, workspaceId: string | null): Promise<OfferedModel[]>;
  /** Returns the configured providers. `remembers` is true if the provider can keep the history itself. */
  providers(): Promise<{ name: string; defaultModel: string; remembers: boolean }[]>;
}

/** A model that a turn can name, as `<provider>/<model>`. */
export interface OfferedModel {
  provider: string;
  model: string;
  /** The size of the window. Null: it is not known. */
  contextTokens: number | null;
  /** US dollars for a million tokens. Null: they are not known. */
  price: { input: number; cached: number; output: number } | null;
  /** The page from which aptove has the price, and the month in which it was read. Null: the model is not in its table. */
  source: { page: string; asOf: string } | null;
}

/** The contexts that a turn can name. */
export interface KnownContexts {
  agentContexts: readonly AgentContext[];
  conversationContexts: readonly ConversationContext[];
}

/** The kind and the id of one context. */
export interface ContextChoice {
  kind: ContextKind;
  id: string;
}

/** The fields of a context in the form of `config.toml`, with keys in snake case. */
export type ContextFields = Record<string, unknown>;

/**
 * A context, and where it comes from. `version`, `createdAt` and `createdBy` are null if it comes from the
 * configuration. `content` is null if this version retired the context.
 */
export interface ContextEntry extends ContextChoice {
  version: number | null;
  createdAt: number | null;
  createdBy: string | null;
  content: AgentContext | ConversationContext | null;
}
