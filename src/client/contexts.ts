/** The client's methods for contexts (G1). */
import type { WireContext, WireContextEdit, WireContextVersion, WireOfferedModel } from "../protocol/context.ts";
import type { QueryOf } from "../protocol/routes/routes.ts";
import type { FetchJson } from "./send.ts";

type Kind = WireContext["kind"];

export interface ContextMethods {
  list(): Promise<WireContext[]>;
  /** Returns the context in effect, or with `version` that version of the org's own one. */
  get(kind: Kind, id: string, options?: { version?: number }): Promise<WireContext>;
  /** Throws `context_changed` if `expectedVersion` is not the newest version. Without it: if a version exists. */
  put(kind: Kind, id: string, edit: WireContextEdit): Promise<WireContext>;
  /** Retires the org's own context. Throws `not_found` if the org has none. */
  retire(kind: Kind, id: string, options?: { expectedVersion?: number }): Promise<WireContextVersion>;
  /** Returns the models that the configured providers offer, each provider's default first (G3). */
  models(query?: QueryOf<"listModels">): Promise<WireOfferedModel[]>;
  /** Returns the versions of the org's own context, newest first. One of the configuration that was never edited has none. */
  versions(kind: Kind, id: string, page?: QueryOf<"listContextVersions">): Promise<WireContextVersion[]>;
}

export function contextMethods(call: FetchJson): ContextMethods {
  return {
    list: async () => (await call("listContexts")).contexts,
    get: (kind, name, query = {}) => call("getContextEntry", { params: { kind, name }, query }),
    put: (kind, name, body) => call("putContextEntry", { params: { kind, name }, body }),
    retire: (kind, name, query = {}) => call("retireContextEntry", { params: { kind, name }, query }),
    models: async (query = {}) => (await call("listModels", { query })).models,
    versions: async (kind, name, query = {}) =>
      (await call("listContextVersions", { params: { kind, name }, query })).versions,
  };
}
