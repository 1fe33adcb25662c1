/** Compares two turns: what the model received, and what it answered (D1). */
import { isDeepStrictEqual } from "node:util";
import type { Caller } from "../../domain/caller.ts";
import type { ChunkRef } from "../../domain/chunk.ts";
import type { ContextManifest } from "../../domain/context.ts";
import type { ChunkDifference, DiffSide, FileDifference, HistoryTurn, TurnDiff } from "../api/explanation.ts";
import { alreadySent, chunkKey, type AlreadySent, type State, type StateEntry } from "../../domain/lineage.ts";
import type { Turn } from "../../domain/turn.ts";
import type { EngineCore } from "../turn/live/engine-core.ts";
import type { Histories } from "../turn/kept/histories.ts";
import { visibleTurn } from "../access/visible.ts";
import { ancestors } from "../turn/kept/turn-order.ts";
import { turnReader } from "../turn/turn-reader.ts";

/**
 * Returns the differences. Throws `not_found` for a turn that the caller may not see, and names a blob that cannot be
 * read.
 */
export async function diffTurns(core: EngineCore, caller: Caller, turns: { a: string; b: string }): Promise<TurnDiff> {
  const a = await seenBy(core, await visibleTurn(core.deps, caller, turns.a));
  const b = await seenBy(core, await visibleTurn(core.deps, caller, turns.b));
  return {
    a: await sideOf(core, a.turn),
    b: await sideOf(core, b.turn),
    same: sameness(a.turn, b.turn),
    chunks: chunkDifferences(a, b),
    files: fileDifferences(a, b),
    rules: versionDifferences(rulesOf, a.turn, b.turn),
    skills: versionDifferences(skillsOf, a.turn, b.turn),
    facts: versionDifferences(factsOf, a.turn, b.turn),
    history: await historyDifference(core, a.state, b.state),
  };
}

/** What the model received in a turn: the manifest of the turn, and the history before it. */
interface Seen {
  turn: Turn;
  state: State;
  before: AlreadySent;
}

async function seenBy({ histories }: EngineCore, turn: Turn): Promise<Seen> {
  const state = await histories.state(turn.parentId);
  return { turn, state, before: alreadySent(await compacted(histories, turn, state)) };
}

/** Returns the history as the turn received it after it had summarised the oldest part (C6). */
async function compacted(histories: Histories, turn: Turn, state: State): Promise<State> {
  if (turn.blobs.state === null || !turn.warnings.some(({ code }) => code === "history_compacted")) return state;
  const own = (await histories.state(turn.id)).entries.at(-1);
  if (own === undefined) return state;
  return { ...state, entries: [...state.entries, { ...own, items: [], chunks: [], files: [] }] };
}

async function sideOf(core: EngineCore, turn: Turn): Promise<DiffSide> {
  const { id, sessionId, sequence, status, mode, provider, model } = turn;
  const reader = turnReader(core, turn);
  const [session, instruction, answer] = await Promise.all([
    core.deps.records.sessions.get(sessionId),
    reader.instruction(),
    reader.answer(),
  ]);
  const { settings } = turn.manifest;
  const named = { turnId: id, sessionId, sessionName: session?.name ?? "", sequence };
  return { ...named, status, mode, provider, model, settings, place: placeOf(turn), instruction, answer };
}

function sameness(a: Turn, b: Turn): TurnDiff["same"] {
  const same = (field: keyof ContextManifest): boolean => isDeepStrictEqual(a.manifest[field], b.manifest[field]);
  return {
    prompt: same("promptHash"),
    tools: same("toolsHash"),
    model: a.provider === b.provider && a.model === b.model,
    settings: same("settings"),
    mode: a.mode === b.mode,
    conversationContext: same("conversationContext"),
    agentContext: same("agentContext"),
    rules: versionDifferences(rulesOf, a, b).length === 0,
    skills: versionDifferences(skillsOf, a, b).length === 0,
    facts: versionDifferences(factsOf, a, b).length === 0,
    place: isDeepStrictEqual(placeOf(a), placeOf(b)),
  };
}

function placeOf({ manifest }: Turn): DiffSide["place"] {
  if (manifest.place === undefined) return null;
  const { folder, platform, date, branch } = manifest.place;
  return { folder, platform, date, branch };
}

function versionDifferences(hashesOf: (turn: Turn) => Map<string, string>, a: Turn, b: Turn): FileDifference[] {
  const [ofA, ofB] = [hashesOf(a), hashesOf(b)];
  return [...new Set([...ofA.keys(), ...ofB.keys()])]
    .map((path) => ({ path, hashA: ofA.get(path) || null, hashB: ofB.get(path) || null }))
    .filter(({ hashA, hashB }) => hashA !== hashB)
    .toSorted((x, y) => order(x.path, y.path));
}

/** Returns the hash of each file with rules that the model had, by path. Empty: it no longer counted. */
function rulesOf({ manifest: { rules } }: Turn): Map<string, string> {
  return new Map(
    [...(rules?.files ?? []), ...(rules?.changed ?? [])].map(({ path, contentHash }) => [path, contentHash]),
  );
}

/** Returns the hash of each skill that the model was offered, by path. */
function skillsOf({ manifest: { skills } }: Turn): Map<string, string> {
  return new Map((skills?.offered ?? []).map(({ path, contentHash }) => [path, contentHash]));
}

/** Returns the hash of each fact of the memory that the model had, by its id. */
function factsOf({ manifest: { facts = [] } }: Turn): Map<string, string> {
  return new Map(facts.map(({ id, contentHash }) => [id, contentHash]));
}

/**
 * Returns the chunks that differ. A chunk that the other side has in its history is no difference, because that model
 * had it too.
 */
function chunkDifferences(a: Seen, b: Seen): ChunkDifference[] {
  const onlyA = chunksWithout(a.turn, b);
  const onlyB = chunksWithout(b.turn, a);
  const differences: ChunkDifference[] = [];
  for (const chunk of onlyB) {
    const former = takeSamePlace(onlyA, chunk);
    differences.push(chunkDifference(chunk, former === null ? "only_b" : "changed"));
  }
  differences.push(...onlyA.map((chunk) => chunkDifference(chunk, "only_a")));
  return differences.toSorted((x, y) => order(x.path, y.path) || x.startLine - y.startLine);
}

function chunksWithout({ manifest }: Turn, other: Seen): ChunkRef[] {
  const keyOf = (chunk: ChunkRef): string => chunkKey({ id: chunk.id, hash: chunk.contentHash });
  const theirs = new Set(other.turn.manifest.chunks.map(keyOf));
  return manifest.chunks.filter((chunk) => !theirs.has(keyOf(chunk)) && !other.before.chunkKeys.has(keyOf(chunk)));
}

/**
 * Removes and returns the chunk that covered the same part of the file: the one with the same id, else the one that
 * shares most of its lines.
 */
function takeSamePlace(chunks: ChunkRef[], chunk: ChunkRef): ChunkRef | null {
  const shared = ({ id, path, startLine, endLine }: ChunkRef): number => {
    if (path !== chunk.path) return 0;
    if (id === chunk.id) return Infinity;
    return Math.max(0, Math.min(endLine, chunk.endLine) - Math.max(startLine, chunk.startLine) + 1);
  };
  const best = chunks.toSorted((x, y) => shared(y) - shared(x))[0];
  if (best === undefined || shared(best) === 0) return null;
  chunks.splice(chunks.indexOf(best), 1);
  return best;
}

function chunkDifference({ path, startLine, endLine }: ChunkRef, change: ChunkDifference["change"]): ChunkDifference {
  return { path, startLine, endLine, change };
}

/** Returns the versions that the model had of each file that a manifest names, sent in this turn or before. */
function fileDifferences(a: Seen, b: Seen): FileDifference[] {
  const paths = new Set([a, b].flatMap(({ turn }) => turn.manifest.activeFiles.map((file) => file.path)));
  return [...paths]
    .map((path) => ({ path, hashA: versionOf(path, a), hashB: versionOf(path, b) }))
    .filter(({ hashA, hashB }) => hashA !== hashB)
    .toSorted((x, y) => order(x.path, y.path));
}

function versionOf(path: string, { turn, before }: Seen): string | null {
  const sent = turn.manifest.activeFiles.find((file) => file.path === path && file.wasSentToLLM);
  return sent?.contentHash ?? before.files.get(path) ?? null;
}

function order(a: string, b: string): number {
  return a === b ? 0 : a < b ? -1 : 1;
}

async function historyDifference(core: EngineCore, a: State, b: State): Promise<TurnDiff["history"]> {
  let common = 0;
  while (common < a.entries.length && a.entries[common]?.turnId === b.entries[common]?.turnId) common += 1;
  return {
    commonTurnId: a.entries[common - 1]?.turnId ?? null,
    commonTurns: common,
    onlyA: await historyTurns(core, a.entries.slice(common)),
    onlyB: await historyTurns(core, b.entries.slice(common)),
  };
}

/** Returns the turns of a history, oldest first. */
async function historyTurns({ deps }: EngineCore, entries: readonly StateEntry[]): Promise<HistoryTurn[]> {
  const [oldest, newest] = [entries[0], entries.at(-1)];
  const turns: HistoryTurn[] = [];
  if (oldest === undefined || newest === undefined) return turns;
  for await (const { id, depth, instructionSummary } of ancestors(deps.records, newest.turnId)) {
    turns.push({ turnId: id, depth, instructionSummary });
    if (id === oldest.turnId) break;
  }
  return turns.toReversed();
}
