/** What the client does with contexts (G1). */
import type { WireContext, WireContextEdit, WireContextVersion } from "../protocol/context.ts";
import type { QueryOf } from "../protocol/routes/routes.ts";
import type { Call } from "./send.ts";

type Kind = WireContext["kind"];

export interface ContextMethods {
  list(): Promise<WireContext[]>;
  /** What counts; with `version` that version of the org's record. */
  get(kind: Kind, id: string, options?: { version?: number }): Promise<WireContext>;
  /** Throws `context_changed` where `expectedVersion` is not the newest; without it, where there is one. */
  put(kind: Kind, id: string, edit: WireContextEdit): Promise<WireContext>;
  /** Throws `not_found` where the org keeps no such context. */
  retire(kind: Kind, id: string, options?: { expectedVersion?: number }): Promise<WireContextVersion>;
  /** Newest first. */
  versions(kind: Kind, id: string, page?: QueryOf<"listContextVersions">): Promise<WireContextVersion[]>;
}

export function contextMethods(call: Call): ContextMethods {
  return {
    list: async () => (await call("listContexts")).contexts,
    get: (kind, name, query = {}) => call("getContextEntry", { params: { kind, name }, query }),
    put: (kind, name, body) => call("putContextEntry", { params: { kind, name }, body }),
    retire: (kind, name, query = {}) => call("retireContextEntry", { params: { kind, name }, query }),
    versions: async (kind, name, query = {}) =>
      (await call("listContextVersions", { params: { kind, name }, query })).versions,
  };
}
