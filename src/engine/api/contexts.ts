/** Contexts and indexes, as a door sees them (G1, G2, Q1). */
import type { IndexInfo, IndexJob, IndexSummary } from "../../retrieval/retriever.ts";
import type { AgentContext, ContextKind, ContextVersionFacts, ConversationContext } from "../../domain/context.ts";
import type { Caller } from "../../domain/caller.ts";

/** Those of the caller's org, where the default agent context looks things up. */
export interface Indexes {
  /** What `Retriever.index` throws, and `forbidden` for readers. */
  index(caller: Caller, job: Omit<IndexJob, "orgId">): Promise<IndexSummary>;
  list(caller: Caller): Promise<IndexInfo[]>;
}

/** Contexts, as the configuration names them and as the caller's org keeps them in records, which win (G1). */
export interface Contexts {
  /** What counts now for turns of the caller in a workspace; null: in none. */
  known(caller: Caller, workspaceId: string | null): Promise<KnownContexts>;
  /** Every context that counts in no workspace, of both kinds, by kind and id. */
  list(caller: Caller): Promise<ContextEntry[]>;
  /** What counts; with `version` a version of the org's record, also one that no longer counts. Throws `not_found`. */
  get(caller: Caller, of: ContextChoice & { version?: number }): Promise<ContextEntry>;
  /**
   * Makes a version with this content, whole: what the entry leaves out takes its built-in value, now and for good. With
   * `expected` only if that version is the newest; without, only if there is none, or it is retired. For admins.
   * Throws `context_invalid`, `context_changed`.
   */
  put(caller: Caller, edit: ContextChoice & { entry: ContextFields; expected?: number }): Promise<ContextEntry>;
  /**
   * Retires the org's record: what the configuration says under its id counts again; where it says nothing, turns that
   * name the id are refused. For admins. Throws `not_found`, `context_changed`.
   */
  retire(caller: Caller, of: ContextChoice & { expected?: number }): Promise<ContextVersionFacts>;
  /** Newest first. Throws `not_found` where the org never had such a record. */
  versions(
    caller: Caller,
    of: ContextChoice,
    page: { before?: number; limit?: number },
  ): Promise<ContextVersionFacts[]>;
  providers(): Promise<{ name: string; defaultModel: string; remembers: boolean }[]>;
}

export interface KnownContexts {
  agentContexts: readonly AgentContext[];
  conversationContexts: readonly ConversationContext[];
}

export interface ContextChoice {
  kind: ContextKind;
  id: string;
}

/** A context in the form of `config.toml`: its keys, in snake case. */
export type ContextFields = Record<string, unknown>;

/** `version` is null where the configuration says it; null `content`: this version retired it. */
export interface ContextEntry extends ContextChoice {
  version: number | null;
  createdAt: number | null;
  createdBy: string | null;
  content: AgentContext | ConversationContext | null;
}
