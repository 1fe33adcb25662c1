/**
 * What a turn has of the memory of its workspace (M3): the facts that it is given, and those of its history that were forgotten
 * meanwhile.
 */
import type { Caller } from "../../../../domain/caller.ts";
import type { ContextManifest, ConversationContext } from "../../../../domain/context.ts";
import type { Warning } from "../../../../domain/errors.ts";
import type { Fact, FactRef, Memory, SentFact } from "../../../../domain/fact.ts";
import { containedFacts, knownFacts, withoutForgotten } from "../../../../domain/forgetting.ts";
import { historySummary, type State } from "../../../../domain/lineage.ts";
import { ownsWorkspaces } from "../../../access/access.ts";
import type { EngineDependencies } from "../../../dependencies.ts";
import { memoryParts } from "../../request/memory-block.ts";
import type { AcceptedMemory, AcceptedRequest } from "../accepted-request.ts";
import { chooseFacts } from "./choose-facts.ts";

/** Reads the memory. Null: the turn has none. Only those who run the server have workspaces (H4). */
export async function acceptMemory(
  { workspaces }: EngineDependencies,
  { caller, workspaceId, context }: AskedMemory,
): Promise<AcceptedMemory | null> {
  if (workspaceId === null || context.memory === false || !ownsWorkspaces(caller)) return null;
  const memory = (await workspaces?.memory?.read(workspaceId)) ?? null;
  return memory === null ? null : { ...memory, workspaceId };
}

interface AskedMemory {
  caller: Caller;
  workspaceId: string | null;
  context: Pick<ConversationContext, "memory">;
}

/** The history as this turn may still send it. */
export interface FreshHistory {
  /** The history without what was forgotten (M3). */
  visible: State;
  /** The ids of the facts of the history that are not in the memory any more. */
  forgets: readonly string[];
}

/**
 * Takes the facts out of a history that are in no memory any more: they were forgotten, or their files were deleted. A memory that cannot be read fails the
 * turn: otherwise a forgotten fact might be sent.
 */
export async function freshHistory(
  deps: EngineDependencies,
  { memory }: Pick<AcceptedRequest, "memory">,
  state: State,
): Promise<FreshHistory> {
  const before = withoutForgotten(state);
  const contained = containedFacts(before);
  if (contained.size === 0) return { visible: before, forgets: [] };
  const memories = new Map<string, ReadonlySet<string>>();
  for (const { workspaceId } of contained.values()) {
    if (memories.has(workspaceId)) continue;
    const isOwn = memory?.workspaceId === workspaceId;
    memories.set(workspaceId, namesIn(isOwn ? memory : await deps.workspaces?.memory?.read(workspaceId)));
  }
  const isGone = ({ id, workspaceId }: SentFact): boolean => memories.get(workspaceId)?.has(id) !== true;
  const forgets = [...contained.values()].filter(isGone).map(({ id }) => id);
  return { visible: forgets.length === 0 ? before : withoutForgotten(state, forgets), forgets };
}

/** Returns true if the summary of the history carries one of the facts that the turn forgets, so that it has to be made anew. */
export function losesSummary(state: State, forgets: readonly string[] = []): boolean {
  if (forgets.length === 0) return false;
  return historySummary(withoutForgotten(state)) !== historySummary(withoutForgotten(state, forgets));
}

/** Returns the ids of all facts, also of those whose file has a fault at the moment. */
function namesIn(memory: Memory | null | undefined): Set<string> {
  return new Set([...(memory?.facts ?? []).map(({ id }) => id), ...(memory?.faults ?? []).map(({ name }) => name)]);
}

/** What the message of a turn brings of the memory. */
export interface MemoryNews {
  facts: Fact[];
  parts: string[];
  sent: SentFact[];
  warnings: Warning[];
  /** The warnings that later turns do not repeat. */
  warned: string[];
}

const noNews: MemoryNews = { facts: [], parts: [], sent: [], warnings: [], warned: [] };

/** What the model has already. */
interface KnownMemory {
  visible: State;
  warned: ReadonlySet<string>;
  /** The facts that the message has already. */
  sent?: readonly SentFact[];
}

/** Chooses the facts of the message. A fact that changed since the model received it is always among them. */
export function memoryNews(
  { memory, instruction }: Pick<AcceptedRequest, "memory" | "instruction">,
  { visible, warned, sent: own = [] }: KnownMemory,
): MemoryNews {
  // A turn that only brings results of tools has no message that could have facts.
  if (memory === null || instruction === "") return noNews;
  const { workspaceId } = memory;
  const known = new Map([...knownFacts(visible), ...own.map((fact) => [fact.id, fact] as const)]);
  const chosen = new Set(chooseFacts(memory.facts, instruction));
  const facts = memory.facts.filter((fact) => {
    const before = known.get(fact.id);
    if (before === undefined || before.workspaceId !== workspaceId) return chosen.has(fact);
    return before.hash !== fact.hash;
  });
  const faults = memory.faults.filter(({ name }) => !warned.has(faultMark(workspaceId, name)));
  return {
    facts,
    parts: memoryParts(facts),
    sent: facts.map(({ id, hash }) => ({ id, workspaceId, hash })),
    warnings: faults.map(({ name, reason }) => ({
      code: "facts_skipped",
      message: `the fact ${name} of the workspace's memory is not used: ${reason}`,
    })),
    warned: faults.map(({ name }) => faultMark(workspaceId, name)),
  };
}

function faultMark(workspaceId: string, name: string): string {
  return `facts_skipped ${workspaceId} ${name}`;
}

/** Returns a warning about what the model no longer receives (C3). */
export function forgottenWarnings({ forgets }: Pick<FreshHistory, "forgets">): Warning[] {
  if (forgets.length === 0) return [];
  const message = `no longer in the memory, and so taken out of the history that the model receives: ${forgets.join(", ")}`;
  return [{ code: "facts_forgotten", message }];
}

/** Returns what the manifest keeps: the facts that the model has, from this message or an earlier one. */
export function factRefs(
  { memory }: Pick<AcceptedRequest, "memory">,
  visible: State,
  { sent }: Pick<MemoryNews, "sent">,
): Pick<ContextManifest, "facts"> {
  const sources = new Map((memory?.facts ?? []).map(({ id, source }) => [id, source?.turnId ?? null]));
  const ref = ({ id, workspaceId, hash }: SentFact, wasSent: boolean): FactRef => ({
    id,
    workspaceId,
    contentHash: hash,
    sourceTurnId: memory?.workspaceId === workspaceId ? (sources.get(id) ?? null) : null,
    wasSent,
  });
  const now = new Set(sent.map(({ id }) => id));
  const earlier = [...knownFacts(visible).values()].filter(({ id }) => !now.has(id));
  const facts = [...earlier.map((fact) => ref(fact, false)), ...sent.map((fact) => ref(fact, true))];
  return facts.length === 0 ? {} : { facts };
}
