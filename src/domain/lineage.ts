/**
 * The binary-counter chain (K2). A turn's state names a base turn and holds only what came since. With the
 * base of depth n at n & (n - 1), any history is read in at most log2(n) + 1 pieces, and a conversation
 * of n turns stores O(n log n) bytes where a snapshot per turn stores O(n^2).
 */
import type { PartRef } from "./input-part.ts";
import type { HistoryItem } from "./history.ts";

/** Depth of the turn that a turn of this depth builds on; 0 means that it builds on nothing. Roots have depth 1. */
export function baseDepth(depth: number): number {
  return depth & (depth - 1);
}

/** Depths whose states make up the history of a turn, from the oldest to `depth` itself. */
export function chainDepths(depth: number): number[] {
  const depths: number[] = [];
  for (let at = depth; at > 0; at = baseDepth(at)) depths.unshift(at);
  return depths;
}

/** A chunk or a file that the model was given, by content (Q4, X3). */
export interface SentChunk {
  id: string;
  hash: string;
  path: string;
}
export interface SentFile {
  path: string;
  hash: string;
}

/** What one turn added to the history. Entries are immutable and are kept in the states of later turns too. */
export interface StateEntry {
  turnId: string;
  depth: number;
  items: HistoryItem[];
  chunks: SentChunk[];
  files: SentFile[];
  /** Parts of the input that can be read with a tool from here on (I1); absent: none. */
  inputs?: PartRef[];
  /** Made by this turn before its first call: what the model gets in place of the oldest turns (C6). */
  summary?: HistorySummary;
}

/** A summary that the model wrote, of all turns up to this one. The turns themselves stay in the store. */
export interface HistorySummary {
  throughTurnId: string;
  throughDepth: number;
  provider: string;
  model: string;
  text: string;
}

/** The content of `turns/{turnId}/state.json` (K2). */
export interface StateFile {
  format: 1;
  turnId: string;
  depth: number;
  base: string | null;
  /** Of the turns after the base, oldest first; the last is this turn's own. */
  entries: StateEntry[];
}

/** A turn's whole state in memory. `bases` names the turns of its chain, oldest first, itself last. */
export interface State {
  turnId: string;
  depth: number;
  bases: { turnId: string; depth: number }[];
  entries: readonly StateEntry[];
}

export const emptyState: State = { turnId: "", depth: 0, bases: [], entries: [] };

/** The state of a child: its parent's with one entry more. The parent's arrays are not touched. */
export function extendState(parent: State, entry: StateEntry): State {
  const kept = parent.bases.filter((base) => base.depth <= baseDepth(entry.depth));
  return {
    turnId: entry.turnId,
    depth: entry.depth,
    bases: [...kept, { turnId: entry.turnId, depth: entry.depth }],
    entries: [...parent.entries, entry],
  };
}

/** The part of a state that its own file holds. */
export function stateFile(state: State): StateFile {
  const base = state.bases.at(-2) ?? null;
  const since = base === null ? 0 : base.depth;
  return {
    format: 1,
    turnId: state.turnId,
    depth: state.depth,
    base: base === null ? null : base.turnId,
    entries: state.entries.filter((entry) => entry.depth > since),
  };
}

/** Puts the files of a chain, oldest first, together again. */
export function joinState(files: readonly StateFile[]): State {
  const last = files.at(-1);
  if (last === undefined) return emptyState;
  return {
    turnId: last.turnId,
    depth: last.depth,
    bases: files.map((file) => ({ turnId: file.turnId, depth: file.depth })),
    entries: files.flatMap((file) => file.entries),
  };
}

export function historyItems(state: State): HistoryItem[] {
  return state.entries.flatMap((entry) => entry.items);
}

/** The parts of all inputs so far, by the names that they are read by; of two with one name the newer (I1). */
export function readableInputs(state: State): Map<string, PartRef> {
  return new Map(state.entries.flatMap(({ inputs = [] }) => inputs.map((part) => [part.name, part] as const)));
}

/** The newest summary of a history, if there is one. */
export function historySummary(state: State): HistorySummary | null {
  return state.entries.findLast((entry) => entry.summary !== undefined)?.summary ?? null;
}

/** The turns that the model sees as they were, behind the summary. */
function visibleEntries(state: State): readonly StateEntry[] {
  const summary = historySummary(state);
  return summary === null ? state.entries : state.entries.filter((entry) => entry.depth > summary.throughDepth);
}

/** The history as the model gets it: all of it, or the newest summary and what came after it (C6). */
export function visibleItems(state: State): HistoryItem[] {
  const summary = historySummary(state);
  const items = visibleEntries(state).flatMap((entry) => entry.items);
  return summary === null ? items : [summaryItem(summary), ...items];
}

export function summaryItem({ text }: Pick<HistorySummary, "text">): HistoryItem {
  return { type: "user", parts: [`[SUMMARY OF THE CONVERSATION SO FAR]\n${text}`] };
}

/** Everything that the model already has in this history, for Q4, X3 and X6. */
export interface AlreadySent {
  chunkKeys: Set<string>;
  /** Path to the hash that was sent last. */
  files: Map<string, string>;
}

export function chunkKey(chunk: { id: string; hash: string }): string {
  return `${chunk.id}\u0000${chunk.hash}`;
}

export function alreadySent(state: State): AlreadySent {
  const sent: AlreadySent = { chunkKeys: new Set(), files: new Map() };
  for (const entry of visibleEntries(state)) {
    for (const chunk of entry.chunks) sent.chunkKeys.add(chunkKey(chunk));
    for (const file of entry.files) sent.files.set(file.path, file.hash);
  }
  return sent;
}
