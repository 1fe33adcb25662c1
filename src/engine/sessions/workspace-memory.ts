/** The memory of workspaces, for people (M3): lists, adds, changes and forgets facts. */
import type { AuditAction } from "../../domain/audit.ts";
import type { Caller } from "../../domain/caller.ts";
import { AptoveError } from "../../domain/errors.ts";
import type { Fact, FactStore, Memory } from "../../domain/fact.ts";
import { limits } from "../../domain/limits.ts";
import { rememberTool } from "../../domain/remembered.ts";
import type { Turn } from "../../domain/turn.ts";
import { noReader, ownWorkspace, unknownWorkspace } from "../access/access.ts";
import { audited } from "../access/audit.ts";
import { maySee, visibleTurn } from "../access/visible.ts";
import type { EngineDependencies } from "../dependencies.ts";
import type { FactChoice, Forgotten, TurnWithFact, WorkspaceMemory } from "../engine.ts";

export function workspaceMemory(deps: EngineDependencies): WorkspaceMemory {
  const recorded = async <T>(caller: Caller, action: AuditAction, of: Recorded<T>): Promise<T> => {
    const { workspaceId, target, body } = of;
    return await audited(deps, { by: caller, action, target, facts: { workspace: workspaceId } }, body);
  };
  return {
    list: async (caller, workspaceId) => await memoryOf(deps, caller, workspaceId),
    get: async (caller, of) => {
      const { facts } = await memoryOf(deps, caller, of.workspaceId);
      return facts.find(({ id }) => id === of.id) ?? noFact(of);
    },
    add: async (caller, { workspaceId, text, sourceTurnId }) => {
      const store = storeFor(deps, caller, { workspaceId, writes: true });
      const turn =
        sourceTurnId === undefined || sourceTurnId === null ? null : await visibleTurn(deps, caller, sourceTurnId);
      const source = turn === null ? null : { sessionId: turn.sessionId, turnId: turn.id };
      const body = async (): Promise<Fact> => await store.add(workspaceId, { text, at: deps.now(), source });
      return await recorded(caller, "memory.add", { workspaceId, target: ({ id }) => id, body });
    },
    change: async (caller, { workspaceId, ...change }) => {
      const store = storeFor(deps, caller, { workspaceId, writes: true });
      const body = async (): Promise<Fact> =>
        (await store.change(workspaceId, change)) ?? noFact({ workspaceId, id: change.id });
      return await recorded(caller, "memory.change", { workspaceId, target: change.id, body });
    },
    forget: async (caller, of) => {
      const { workspaceId, id } = of;
      const store = storeFor(deps, caller, { workspaceId, writes: true });
      const body = async (): Promise<Forgotten> => await forget(deps, caller, { ...of, store });
      return await recorded(caller, "memory.forget", { workspaceId, target: id, body });
    },
  };
}

interface Recorded<T> {
  workspaceId: string;
  target: string | ((made: T) => string);
  body: () => Promise<T>;
}

/** Returns the store if the caller may use the memory of the workspace. A workspace of others does not exist for the caller. */
function storeFor(
  { workspaces }: EngineDependencies,
  caller: Caller,
  { workspaceId, writes = false }: { workspaceId: string; writes?: boolean },
): FactStore {
  if (writes) noReader(caller, "change the memory of a workspace");
  ownWorkspace(caller, workspaceId);
  if (workspaces?.memory === undefined) throw unknownWorkspace(workspaceId);
  return workspaces.memory;
}

async function memoryOf(deps: EngineDependencies, caller: Caller, workspaceId: string): Promise<Memory> {
  const memory = await storeFor(deps, caller, { workspaceId }).read(workspaceId);
  if (memory === null) throw unknownWorkspace(workspaceId);
  return memory;
}

function noFact({ workspaceId, id }: FactChoice): never {
  throw new AptoveError("not_found", `there is no fact ${JSON.stringify(id)} in the workspace ${workspaceId}`);
}

/** Removes the fact first, and then looks for the turns that had it: a turn that begins in between is not given it. */
async function forget(
  deps: EngineDependencies,
  caller: Caller,
  { store, workspaceId, id }: FactChoice & { store: FactStore },
): Promise<Forgotten> {
  const removed = await sourcesOf(store, workspaceId);
  const ids = await store.forget(workspaceId, id);
  const sought = { workspaceId, ids: new Set(ids.length === 0 ? [id] : ids) };
  const sources = await withCallingTurns(deps, new Set([...sought.ids].flatMap((one) => removed.get(one) ?? [])));
  const report = await turnsWith(deps, caller, { ...sought, sources });
  if (ids.length === 0 && report.turns.length === 0) noFact({ workspaceId, id });
  return { ids, ...report };
}

/** Returns the turn that each fact came from. */
async function sourcesOf(store: FactStore, workspaceId: string): Promise<Map<string, string>> {
  const memory = await store.read(workspaceId);
  return new Map((memory?.facts ?? []).flatMap(({ id, source }) => (source === null ? [] : [[id, source.turnId]])));
}

/** Adds the turns whose calls waited for a person until the next turn: these have the text too. */
async function withCallingTurns({ records }: EngineDependencies, sources: ReadonlySet<string>): Promise<Set<string>> {
  const all = new Set(sources);
  for (const id of sources) {
    const turn = await records.turns.get(id);
    const before = turn?.parentId == null ? null : await records.turns.get(turn.parentId);
    const waited = before?.status === "awaiting_tool_results" ? before.deferredCalls : [];
    if (before !== null && waited.some(({ name }) => name === rememberTool)) all.add(before.id);
  }
  return all;
}

interface Sought {
  workspaceId: string;
  ids: ReadonlySet<string>;
  sources: ReadonlySet<string>;
}

/** Looks through all turns for those that had one of the facts: no index would be right for turns of imports and of other servers. */
async function turnsWith(
  deps: EngineDependencies,
  caller: Caller,
  sought: Sought,
): Promise<Pick<Forgotten, "turns" | "turnsOfOthers">> {
  const { records } = deps;
  const turns: TurnWithFact[] = [];
  const visible = new Map<string, boolean>();
  let turnsOfOthers = 0;
  for (let after: string | null = null; ;) {
    const ids = await records.storage.turnIds({ after, limit: limits.pageSizeMax });
    for (const id of ids) {
      const turn = await records.turns.get(id);
      const found = turn === null ? null : factsIn(turn, sought);
      if (turn === null || found === null) continue;
      if (!visible.has(turn.sessionId)) {
        const session = await records.sessions.get(turn.sessionId);
        if (session === null || session.orgId !== caller.orgId) continue;
        visible.set(turn.sessionId, await maySee(deps, caller, session));
      }
      if (visible.get(turn.sessionId) === true) turns.push(found);
      else turnsOfOthers += 1;
    }
    after = ids.at(-1) ?? null;
    if (after === null) return { turns, turnsOfOthers };
  }
}

function factsIn(
  { id, sessionId, sequence, manifest }: Turn,
  { workspaceId, ids, sources }: Sought,
): TurnWithFact | null {
  const given = (manifest.facts ?? []).filter((fact) => fact.workspaceId === workspaceId && ids.has(fact.id));
  const isSource = sources.has(id) || given.some(({ sourceTurnId }) => sourceTurnId === id);
  if (given.length === 0 && !isSource) return null;
  return { sessionId, turnId: id, sequence, isSource };
}
