/** Handlers for contexts (G1): those in effect, and the org's own ones, which admins edit. */
import { AptoveError } from "../../../domain/errors.ts";
import { isoTime } from "../../../domain/ids.ts";
import type { ContextEntry, OfferedModel } from "../../../engine/engine.ts";
import {
  contextFields,
  toFileKeys,
  toWireVersion,
  type WireContext,
  type WireOfferedModel,
} from "../../../protocol/context.ts";
import { withoutNullish } from "../../../protocol/given.ts";
import { answer, type HandlerDependencies, type RouteHandlers } from "./handler.ts";

type ContextRoute =
  | "listContexts"
  | "getContextEntry"
  | "putContextEntry"
  | "retireContextEntry"
  | "listContextVersions"
  | "listModels";

export function contextHandlers({ engine: { contexts } }: HandlerDependencies): RouteHandlers<ContextRoute> {
  return {
    listContexts: async ({ caller }) =>
      answer("listContexts", { contexts: (await contexts.list(caller)).map(toWireContext) }),
    getContextEntry: async ({ caller, params: { kind, name: id }, query }) => {
      const entry = await contexts.get(caller, { kind, id, ...withoutNullish(query) });
      return answer("getContextEntry", toWireContext(entry), tag(entry.version));
    },
    putContextEntry: async ({ request, caller, params: { kind, name: id }, body: { content, expectedVersion } }) => {
      const expected = expectedOf(request, expectedVersion);
      const entry = toFileKeys(content);
      const written = await contexts.put(caller, { kind, id, entry, ...withoutNullish({ expected }) });
      return answer("putContextEntry", toWireContext(written), tag(written.version));
    },
    retireContextEntry: async ({ request, caller, params: { kind, name: id }, query: { expectedVersion } }) => {
      const expected = expectedOf(request, expectedVersion);
      const retired = await contexts.retire(caller, { kind, id, ...withoutNullish({ expected }) });
      return answer("retireContextEntry", toWireVersion(retired));
    },
    listModels: async ({ caller, query: { workspaceId = null } }) =>
      answer("listModels", { models: (await contexts.models(caller, workspaceId)).map(toWireModel) }),
    listContextVersions: async ({ caller, params: { kind, name: id }, query }) => {
      const versions = await contexts.versions(caller, { kind, id }, withoutNullish(query));
      return answer("listContextVersions", { versions: versions.map(toWireVersion) });
    },
  };
}

function toWireModel({ provider, model, contextTokens, price, source }: OfferedModel): WireOfferedModel {
  return { provider, model, contextTokens, price, source };
}

function tag(version: number | null): Record<string, string> {
  return version === null ? {} : { etag: `"${version}"` };
}

/** Returns the expected version from the header or the body. If both have one, they must be equal. */
function expectedOf(request: Request, inBody: number | undefined): number | undefined {
  const header = request.headers.get("if-match");
  if (header === null) return inBody;
  const version = Number(/^"([1-9]\d{0,14})"$/.exec(header.trim())?.[1]);
  if (!Number.isInteger(version) || (inBody !== undefined && inBody !== version)) {
    const detail = `If-Match: ${JSON.stringify(header)} is not a version such as "3", or differs from expectedVersion`;
    throw new AptoveError("request_invalid", detail);
  }
  return version;
}

function toWireContext({ kind, id, version, createdAt, createdBy, content }: ContextEntry): WireContext {
  return {
    kind,
    id,
    version,
    createdAt: createdAt === null ? null : isoTime(createdAt),
    createdBy,
    content: content === null ? null : contextFields(content),
  };
}
