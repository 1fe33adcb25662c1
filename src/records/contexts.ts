/**
 * The records' part for contexts of orgs (G1): what an org configured for its agents and conversations, in numbered versions.
 *
 * A driver keeps every version. A version never changes after it is stored, and the versions of one context count up by one
 * from 1. Of two processes that store the same version at once, one succeeds. A retired context is a version without content.
 */
import type { ContextKind, ContextVersion, ContextVersionFacts } from "../domain/context.ts";

export interface ContextRecords {
  /** Stores a version if the newest one is the version before it. Otherwise it changes nothing. */
  putVersion(version: ContextVersion): Promise<ContextPut>;
  getVersion(of: ContextName & { version: number }): Promise<ContextVersion | null>;
  /** Returns versions newest first, without their content. `before` selects only smaller numbers. */
  listVersions(of: ContextName, page: { before?: number; limit: number }): Promise<ContextVersionFacts[]>;
  /** Returns the newest version of each context of the org, including retired ones, ordered by kind and id, without content. */
  listNewest(orgId: string): Promise<ContextVersionFacts[]>;
  /** Returns the newest version of each context that is not retired. The order is undefined. */
  listCurrent(orgId: string): Promise<ContextVersion[]>;
}

export interface ContextName {
  orgId: string;
  kind: ContextKind;
  id: string;
}
/** `newest` is the number of the newest version; 0 if there is none. */
export type ContextPut = { outcome: "stored" } | { outcome: "changed"; newest: number };
