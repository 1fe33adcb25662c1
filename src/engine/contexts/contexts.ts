/** Contexts as the admins of an org edit them, in versions that never change (G1). */
import type { Caller } from "../../domain/caller.ts";
import type { ContextKind, ContextVersion, ContextVersionFacts } from "../../domain/context.ts";
import { AptoveError } from "../../domain/errors.ts";
import { limits } from "../../domain/limits.ts";
import { withProviderContexts } from "./model-words.ts";
import { settingsOf } from "./resolve-contexts.ts";
import { adminOnly, pageLimit } from "../access/access.ts";
import { audited } from "../access/audit.ts";
import type { ContextChoice, ContextEntry, ContextRegistry } from "../engine.ts";
import { keyOf, knownContexts } from "./known-contexts.ts";
import { offeredModels } from "./offered-models.ts";
import type { EngineDependencies } from "../dependencies.ts";

export function contexts(deps: EngineDependencies): ContextRegistry {
  return {
    known: async (caller, workspaceId) => {
      const known = await knownContexts(
        deps,
        caller,
        withProviderContexts(await settingsOf(deps, caller, workspaceId)),
      );
      return { agentContexts: known.agentContexts, conversationContexts: known.conversationContexts };
    },
    list: (caller) => list(deps, caller),
    get: (caller, { version, ...of }) =>
      version === undefined ? current(deps, caller, of) : recorded(deps, caller, { ...of, version }),
    put: (caller, edit) =>
      audited(deps, { by: caller, action: "context.change", target: edit.id, facts: { kind: edit.kind } }, () =>
        put(deps, caller, edit),
      ),
    retire: (caller, of) =>
      audited(deps, { by: caller, action: "context.remove", target: of.id, facts: { kind: of.kind } }, () =>
        retire(deps, caller, of),
      ),
    versions: async (caller, of, { before, limit }) => {
      const page = { ...(before !== undefined && { before }), limit: pageLimit(limit) };
      const found = await deps.records.contexts.listVersions({ orgId: caller.orgId, ...of }, page);
      // A context of the configuration that no admin has edited has no versions. Any other is not found.
      if (found.length === 0 && before === undefined) await current(deps, caller, of);
      return found;
    },
    models: (caller, workspaceId) => offeredModels(deps, caller, workspaceId),
    providers: async () => {
      const found = await Promise.all([...deps.providers.keys()].map((name) => deps.providers.get(name)));
      return found.flatMap((one) =>
        one === undefined ? [] : [{ name: one.name, defaultModel: one.defaultModel, remembers: one.remembers }],
      );
    },
  };
}

async function list(deps: EngineDependencies, caller: Caller): Promise<ContextEntry[]> {
  const known = await knownContexts(deps, caller, deps);
  const entries = (kind: ContextKind, all: readonly NonNullable<ContextEntry["content"]>[]): ContextEntry[] =>
    all.map((content) => {
      const version = known.versions.get(keyOf(kind, content.id));
      if (version !== undefined) return entryOf(version);
      return { kind, id: content.id, version: null, createdAt: null, createdBy: null, content };
    });
  return [...entries("agent", known.agentContexts), ...entries("conversation", known.conversationContexts)];
}

async function current(deps: EngineDependencies, caller: Caller, { kind, id }: ContextChoice): Promise<ContextEntry> {
  const found = (await list(deps, caller)).find((entry) => entry.kind === kind && entry.id === id);
  if (found !== undefined) return found;
  throw new AptoveError("not_found", `there is no ${kind} context ${JSON.stringify(id)}`);
}

async function recorded(
  { records }: EngineDependencies,
  { orgId }: Caller,
  of: ContextChoice & { version: number },
): Promise<ContextEntry> {
  const found = await records.contexts.getVersion({ orgId, ...of });
  if (found !== null) return entryOf(found);
  throw new AptoveError("not_found", `the ${of.kind} context ${JSON.stringify(of.id)} has no version ${of.version}`);
}

function entryOf({ orgId: _orgId, ...entry }: ContextVersion): ContextEntry {
  return entry;
}

type Edit = Parameters<ContextRegistry["put"]>[1];

async function put(
  deps: EngineDependencies,
  caller: Caller,
  { kind, id, entry, expected }: Edit,
): Promise<ContextEntry> {
  adminOnly(caller, "edit contexts");
  const content = readEntry(deps, { kind, id, entry });
  const heads = await deps.records.contexts.listNewest(caller.orgId);
  const head = heads.find((one) => one.kind === kind && one.id === id);
  if (head === undefined && heads.length >= limits.contextsPerOrgMax) {
    throw new AptoveError(
      "context_invalid",
      `the org has ${limits.contextsPerOrgMax} contexts, which is the limit; retire one first`,
    );
  }
  // A caller who saw no version may make the first one, or replace a retired one.
  const seen = expected ?? (head?.isRetired === true ? head.version : 0);
  return entryOf(await write(deps, caller, { kind, id, content, seen }));
}

function readEntry(
  deps: EngineDependencies,
  { kind, id, entry }: Omit<Edit, "expected">,
): NonNullable<ContextEntry["content"]> {
  if (deps.readContext === undefined) {
    throw new AptoveError("context_invalid", "this engine was created without contexts that can be edited");
  }
  const content = deps.readContext(kind, id, entry);
  const bytes = Buffer.byteLength(JSON.stringify(content));
  if (bytes > limits.contextBytesMax) {
    throw new AptoveError("context_invalid", `it has ${bytes} bytes; the limit is ${limits.contextBytesMax}`);
  }
  if ("provider" in content) {
    checkName("provider", content.provider, [...deps.providers.keys()]);
    checkName("index", content.index, [...deps.retrievers.keys()]);
  }
  return content;
}

/** Throws unless the configuration has the name. The keys and addresses of a provider are only there (E8). */
function checkName(key: string, name: string, known: readonly string[]): void {
  if (known.includes(name) || (key === "index" && name === "local")) return;
  const names = known.map((one) => JSON.stringify(one)).join(", ");
  throw new AptoveError(
    "context_invalid",
    `${key}: ${JSON.stringify(name)} is not configured; configured are: ${names}`,
  );
}

async function retire(
  deps: EngineDependencies,
  caller: Caller,
  { kind, id, expected }: ContextChoice & { expected?: number },
): Promise<ContextVersionFacts> {
  adminOnly(caller, "edit contexts");
  const heads = await deps.records.contexts.listNewest(caller.orgId);
  const head = heads.find((one) => one.kind === kind && one.id === id);
  if (head === undefined || head.isRetired) throw noRecord({ kind, id });
  const written = await write(deps, caller, { kind, id, content: null, seen: expected ?? head.version });
  const { content: _content, ...facts } = written;
  return { ...facts, isRetired: true };
}

interface Written extends ContextChoice {
  content: ContextVersion["content"];
  /** The newest version that the caller knows. 0: none. */
  seen: number;
}

async function write(
  deps: EngineDependencies,
  caller: Caller,
  { kind, id, content, seen }: Written,
): Promise<ContextVersion> {
  const { orgId, userId: createdBy } = caller;
  const version = { orgId, kind, id, version: seen + 1, createdAt: deps.now(), createdBy, content };
  const result = await deps.records.contexts.putVersion(version);
  if (result.outcome === "stored") return version;
  const detail =
    result.newest === 0
      ? `the ${kind} context ${JSON.stringify(id)} has no version yet`
      : `the ${kind} context ${JSON.stringify(id)} is at version ${result.newest}; read that version and edit it`;
  throw new AptoveError("context_changed", detail, { facts: { version: result.newest } });
}

function noRecord({ kind, id }: ContextChoice): AptoveError {
  const detail = `the org keeps no ${kind} context ${JSON.stringify(id)}; a context of the configuration is edited in its file`;
  return new AptoveError("not_found", detail);
}
