/** Contexts of orgs in memory (G1). */
import type { ContextVersion, ContextVersionFacts } from "../../domain/context.ts";
import type { ContextName, ContextRecords } from "../contexts.ts";
import type { Rows } from "./rows.ts";

export function contextRecords({ contexts }: Rows): ContextRecords {
  const newestOf = (orgId: string): ContextVersion[] =>
    [...contexts.values()].flatMap((versions) => versions.at(-1) ?? []).filter((newest) => newest.orgId === orgId);
  return {
    async putVersion(version) {
      const versions = contexts.get(keyOf(version)) ?? [];
      if (version.version !== versions.length + 1) return { outcome: "changed", newest: versions.length };
      contexts.set(keyOf(version), [...versions, version]);
      return { outcome: "stored" };
    },
    async listNewest(orgId) {
      return newestOf(orgId)
        .map(factsOf)
        .toSorted((a, b) => order(a.kind, b.kind) || order(a.id, b.id));
    },
    async listCurrent(orgId) {
      return newestOf(orgId).filter(({ content }) => content !== null);
    },
    async getVersion({ version, ...name }) {
      return contexts.get(keyOf(name))?.[version - 1] ?? null;
    },
    async listVersions(name, { before = Infinity, limit }) {
      const older = (contexts.get(keyOf(name)) ?? []).filter(({ version }) => version < before);
      return older.toReversed().slice(0, limit).map(factsOf);
    },
  };
}

function keyOf({ orgId, kind, id }: ContextName): string {
  return JSON.stringify([orgId, kind, id]);
}

function factsOf({ content, ...facts }: ContextVersion): ContextVersionFacts {
  return { ...facts, isRetired: content === null };
}

function order(a: string, b: string): number {
  return a === b ? 0 : a < b ? -1 : 1;
}
