/** Keeps the facts of workspaces in the memory of this process (M3): for tests, and for programs that embed aptove without a disk. */
import { randomUUID } from "node:crypto";
import { AptoveError } from "../../domain/errors.ts";
import {
  checkedFact,
  factHash,
  sortedFacts,
  type Fact,
  type FactChange,
  type FactStore,
  type Memory,
  type NewFact,
} from "../../domain/fact.ts";
import { limits } from "../../domain/limits.ts";
import { isWorkspaceId, type WorkspaceStore } from "../workspace-store.ts";

/** Returns an empty store for the workspaces of another store. */
export function memoryFacts(workspaces: Pick<WorkspaceStore, "load">): FactStore {
  return new MemoryFacts(workspaces);
}

class MemoryFacts implements FactStore {
  readonly #workspaces: Pick<WorkspaceStore, "load">;
  readonly #facts = new Map<string, Map<string, Fact>>();

  constructor(workspaces: Pick<WorkspaceStore, "load">) {
    this.#workspaces = workspaces;
  }

  async read(workspaceId: string): Promise<Memory | null> {
    if (!isWorkspaceId(workspaceId) || (await this.#workspaces.load(workspaceId)) === null) return null;
    const facts = [...(this.#facts.get(workspaceId)?.values() ?? [])];
    return { facts: sortedFacts(facts.map((fact) => ({ ...fact }))), faults: [] };
  }

  async add(workspaceId: string, { text: given, at, source }: NewFact): Promise<Fact> {
    const text = checkedFact(given);
    const facts = await this.#of(workspaceId);
    const same = [...facts.values()].find((fact) => fact.text === text);
    if (same !== undefined) return { ...same };
    if (facts.size >= limits.factsPerWorkspaceMax) {
      const detail = `the memory of a workspace has at most ${limits.factsPerWorkspaceMax} facts; forget some first`;
      throw new AptoveError("fact_invalid", detail);
    }
    const id = `f-${randomUUID().replaceAll("-", "").slice(0, 12)}`;
    const fact: Fact = { id, text, hash: factHash(text), createdAt: at, source };
    facts.set(id, fact);
    return { ...fact };
  }

  async change(workspaceId: string, { id, text: given, expectedHash }: FactChange): Promise<Fact | null> {
    const text = checkedFact(given);
    const facts = await this.#of(workspaceId);
    const before = facts.get(id);
    if (before === undefined) return null;
    if (expectedHash !== undefined && expectedHash !== before.hash) {
      throw new AptoveError("fact_changed", `the fact ${id} has another text by now`);
    }
    const fact = { ...before, text, hash: factHash(text) };
    facts.set(id, fact);
    return { ...fact };
  }

  async forget(workspaceId: string, id: string): Promise<string[]> {
    const facts = await this.#of(workspaceId);
    const text = facts.get(id)?.text;
    const ids = [...facts.values()].filter((fact) => fact.text === text).map((fact) => fact.id);
    for (const one of ids) facts.delete(one);
    return ids;
  }

  async #of(workspaceId: string): Promise<Map<string, Fact>> {
    if ((await this.#workspaces.load(workspaceId)) === null) {
      throw new AptoveError("workspace_unknown", `there is no workspace ${JSON.stringify(workspaceId)}`);
    }
    const facts = this.#facts.get(workspaceId) ?? new Map<string, Fact>();
    this.#facts.set(workspaceId, facts);
    return facts;
  }
}
