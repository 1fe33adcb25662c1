/**
 * The contexts that a caller can use (G1, G2): the configured ones, and the records of the caller's org, which replace
 * them. Every turn reads which versions are the newest, or opens only if it knows them, so that an edit counts for the next turn on
 * every server. The content of a version never changes, and is cached.
 */
import type { Caller } from "../../domain/caller.ts";
import {
  contextHash,
  type AgentContext,
  type ContextKind,
  type ContextRef,
  type ContextVersion,
  type ContextVersionFacts,
  type ConversationContext,
} from "../../domain/context.ts";
import { limits } from "../../domain/limits.ts";
import type { RecordStore } from "../../records/record-store.ts";
import { BoundedCache } from "../../system/bounded-cache.ts";
import type { WorkspaceSettings } from "../dependencies.ts";

type Configured = Pick<WorkspaceSettings, "agentContexts" | "conversationContexts">;

interface Recorded {
  /** The newest records that are not retired, by kind and id. */
  versions: ReadonlyMap<string, ContextVersion>;
  refOf(kind: ContextKind, context: AgentContext | ConversationContext): ContextRef;
}

interface From {
  records: RecordStore;
  /** The newest versions of the org's contexts, if they were asked for already. */
  newestContexts?: Promise<ContextVersionFacts[]> | undefined;
}

/** Returns the configured contexts, with the org's records in place of those with the same id. */
export async function knownContexts<S extends Configured>(
  { records, newestContexts = undefined }: From,
  { orgId }: Caller,
  configured: S,
): Promise<S & Recorded> {
  const current = await currentVersions(records, orgId, await (newestContexts ?? records.contexts.listNewest(orgId)));
  const versions = new Map(current.map((version) => [keyOf(version.kind, version.id), version]));
  const contents = <T>(kind: ContextKind): T[] =>
    current.flatMap((version) => (version.kind === kind ? [version.content as T] : []));
  return {
    ...configured,
    agentContexts: overlaid(configured.agentContexts, contents<AgentContext>("agent")),
    conversationContexts: overlaid(configured.conversationContexts, contents<ConversationContext>("conversation")),
    versions,
    refOf: (kind, context) => {
      const version = versions.get(keyOf(kind, context.id))?.version;
      return { id: context.id, hash: contextHash(context), ...(version !== undefined && { version }) };
    },
  };
}

/** Returns the configured ones, each replaced by the record with its id, followed by the other records. */
function overlaid<T extends { id: string }>(configured: readonly T[], recorded: readonly T[]): T[] {
  const byId = new Map(configured.map((context) => [context.id, context]));
  for (const context of recorded) byId.set(context.id, context);
  return [...byId.values()];
}

export function keyOf(kind: ContextKind, id: string): string {
  return `${kind}/${id}`;
}

/** The versions that were read from a store, by org, kind, id and version. */
const kept = new WeakMap<RecordStore, BoundedCache<ContextVersion>>();

async function currentVersions(
  records: RecordStore,
  orgId: string,
  newest: readonly ContextVersionFacts[],
): Promise<ContextVersion[]> {
  const cache = kept.get(records) ?? new BoundedCache<ContextVersion>(limits.contextCacheBytesMax);
  kept.set(records, cache);
  const cacheKey = ({ kind, id, version }: Pick<ContextVersion, "kind" | "id" | "version">): string =>
    JSON.stringify([orgId, kind, id, version]);
  const heads = newest.filter(({ isRetired }) => !isRetired);
  const found = heads.flatMap((head) => cache.get(cacheKey(head)) ?? []);
  if (found.length === heads.length) return found;
  const current = await records.contexts.listCurrent(orgId);
  for (const version of current) cache.set(cacheKey(version), version, 2 * JSON.stringify(version).length);
  return current.toSorted((a, b) => (keyOf(a.kind, a.id) < keyOf(b.kind, b.id) ? -1 : 1));
}
