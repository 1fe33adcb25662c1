/**
 * The binary-counter chain (K2). The state of a turn names a base turn and holds only what was added since. The base of
 * a turn of depth n has depth n & (n - 1). So any history is read in at most log2(n) + 1 files, and a conversation of n
 * turns stores O(n log n) bytes, where a snapshot per turn stores O(n^2).
 */
import type { PartRef } from "./input-part.ts";
import type { SentFact } from "./fact.ts";
import { concernsRemember } from "./remembered.ts";
import { mediaOf, type HistoryItem } from "./history.ts";

/** Returns the depth of the base of a turn of this depth, or 0 if it has no base. A root has depth 1. */
export function baseDepth(depth: number): number {
  return depth & (depth - 1);
}

/** Returns the depths of the turns whose states make up the history of a turn, from the oldest to `depth` itself. */
export function chainDepths(depth: number): number[] {
  const depths: number[] = [];
  for (let at = depth; at > 0; at = baseDepth(at)) depths.unshift(at);
  return depths;
}

/** A chunk that the model received, by its content (Q4, X3). */
export interface SentChunk {
  id: string;
  hash: string;
  path: string;
}
/** A version of a file that the model received, or that a note named. */
export interface SentFile {
  path: string;
  /** SHA-256 of the version that counts. Empty: the file does not exist any more. */
  hash: string;
  /**
   * True if the model did not receive this version: a note says that the version which it has no longer counts (X6).
   */
  isNews?: true;
  /** The commit of the index at that time, if it was known. */
  indexed?: string;
}

/** A file with rules that a note brought, or that it declared void (M1). */
export interface NotedRules {
  path: string;
  /** SHA-256 of the text. Empty: the file no longer counts. */
  hash: string;
}

/** An item of a history: the turn that added it, and its place in that turn, from 0. */
export interface ItemRef {
  turnId: string;
  at: number;
}

/** What one turn gave to the model beside the conversation, and what it hid. */
export type SentContext = Pick<
  StateEntry,
  "chunks" | "files" | "warned" | "rules" | "hides" | "facts" | "forgets" | "pins"
>;

/** What one turn added to the history. An entry never changes, and the states of later turns keep it too. */
export interface StateEntry {
  turnId: string;
  depth: number;
  items: HistoryItem[];
  chunks: SentChunk[];
  files: SentFile[];
  /** The files with rules that the message named, because they had changed. Absent: none. */
  rules?: NotedRules[];
  /** Items that no model receives from this turn on. They remain in the store (O2). Absent: none. */
  hides?: ItemRef[];
  /** The pins whose passages the message repeats, because a summary stands for their turns (M6). Absent: none. */
  pins?: string[];
  /** The facts of the workspace's memory that the message brought (M3). Absent: none. */
  facts?: SentFact[];
  /** The ids of facts that no model receives from this turn on (M3). Absent: none. */
  forgets?: string[];
  /** What the turn warned of and later turns do not warn of again. Absent: nothing. */
  warned?: string[];
  /** The parts of the input that a tool can read from this turn on (I1). Absent: there are none. */
  inputs?: PartRef[];
  /** The summary that this turn made last. The model receives it instead of the oldest items of the history (C6). */
  summary?: HistorySummary;
}

/** A summary that the model wrote of everything up to a turn. The turns themselves remain in the store. */
export interface HistorySummary {
  throughTurnId: string;
  throughDepth: number;
  /** How many items of that turn the summary stands for, from its first. Absent: for all of them. */
  throughItems?: number;
  /** The instruction that was being worked on, if the summary stands for the message that brought it. */
  instruction?: string;
  provider: string;
  model: string;
  text: string;
  /** The turns that the summary stands for and that its text does not name, as numbers (M6). Absent: it names all of them. */
  unnamed?: string;
  /** The pinned passages of the turns that the summary stands for, word for word (M6). Absent: there are none. */
  pinned?: { ids: string[]; block: string };
}

/** The content of `turns/{turnId}/state.json` (K2). */
export interface StateFile {
  format: 1;
  turnId: string;
  depth: number;
  base: string | null;
  /** The entries of the turns after the base, oldest first. The last one is that of this turn. */
  entries: StateEntry[];
}

/**
 * The whole state of a turn, in memory. `bases` holds the ids of the turns of its chain, oldest first; the last is the
 * turn itself.
 */
export interface State {
  turnId: string;
  depth: number;
  bases: { turnId: string; depth: number }[];
  entries: readonly StateEntry[];
}

export const emptyState: State = { turnId: "", depth: 0, bases: [], entries: [] };

/** Returns the state of a child: that of the parent, with one more entry. The arrays of the parent do not change. */
export function extendState(parent: State, entry: StateEntry): State {
  const kept = parent.bases.filter((base) => base.depth <= baseDepth(entry.depth));
  const child = {
    turnId: entry.turnId,
    depth: entry.depth,
    bases: [...kept, { turnId: entry.turnId, depth: entry.depth }],
    entries: [...parent.entries, entry],
  };
  const known = knownMarks.get(parent);
  if (known !== undefined) knownMarks.set(child, extendMarks(known, entry));
  return child;
}

/**
 * What a turn needs of a long history without a walk through all of it. It is derived from the entries, and that of a child
 * from that of its parent (K1).
 */
interface HistoryMarks {
  /** The newest summary. */
  summary: HistorySummary | null;
  /** The newest message that has the place, and its entry (M2). */
  place: MarkedPart | null;
  /** The newest message that has the list of skills (M4). */
  skills: MarkedPart | null;
  /** The entries that have more than messages, calls and results: what was sent, warned of, or can be read. */
  entries: readonly StateEntry[];
  /** The entries that brought, made or forgot facts (M3). */
  factEntries: readonly StateEntry[];
}

/** A part of a message, and where the message is. */
interface MarkedPart {
  text: string;
  entry: StateEntry;
  item: number;
}

const noMarks: HistoryMarks = { summary: null, place: null, skills: null, entries: [], factEntries: [] };
const knownMarks = new WeakMap<State, HistoryMarks>();

function marksOf(state: State): HistoryMarks {
  const known = knownMarks.get(state) ?? state.entries.reduce(extendMarks, noMarks);
  knownMarks.set(state, known);
  return known;
}

function extendMarks(before: HistoryMarks, entry: StateEntry): HistoryMarks {
  const { items, chunks, files, rules, warned, inputs, pins, summary = before.summary } = entry;
  const hasMore = [chunks, files, rules, warned, inputs, pins].some((list) => list !== undefined && list.length > 0);
  return {
    summary,
    place: newestPart(entry, placeHeader) ?? before.place,
    skills: newestPart(entry, skillsHeader) ?? before.skills,
    entries: hasMore || items.some(hasMedia) ? [...before.entries, entry] : before.entries,
    factEntries: hasFacts(entry) ? [...before.factEntries, entry] : before.factEntries,
  };
}

function hasFacts({ items, facts, forgets }: StateEntry): boolean {
  return facts !== undefined || forgets !== undefined || concernsRemember(items);
}

/** Returns the entries of a history that brought, made or forgot facts (M3). */
export function factEntries(state: State): readonly StateEntry[] {
  return marksOf(state).factEntries;
}

/** Returns the entries among them whose message the model still receives. */
export function visibleFactEntries(state: State): StateEntry[] {
  const { factEntries: all, summary } = marksOf(state);
  return all.filter((entry) => !hidesMessage(entry, summary));
}

function newestPart(entry: StateEntry, header: string): MarkedPart | null {
  const item = entry.items.findLastIndex((one) => partIn(one, header) !== null);
  const text = partIn(entry.items[item], header);
  return text === null ? null : { text, entry, item };
}

function partIn(item: HistoryItem | undefined, header: string): string | null {
  if (item?.type !== "user") return null;
  return item.parts.findLast((text) => text.startsWith(header)) ?? null;
}

function hasMedia(item: HistoryItem): boolean {
  return mediaOf(item).length > 0;
}

/** The beginning of the part of a message that says where the model works (M2). */
export const placeHeader = "[PLACE]\n";

/** The beginning of the part of a message that lists the skills (M4). */
export const skillsHeader = "[SKILLS]\n";

/** Returns the newest place that the model has received. Null: none, or a summary stands for the message that had it. */
export function knownPlace(state: State): string | null {
  return visiblePart(marksOf(state), "place");
}

/** Returns the newest list of skills that the model has received. Null: none, or a summary stands for the message that had it. */
export function knownSkills(state: State): string | null {
  return visiblePart(marksOf(state), "skills");
}

function visiblePart(marks: HistoryMarks, kind: "place" | "skills"): string | null {
  const part = marks[kind];
  return part === null || part.item < summarisedItems(part.entry, marks.summary) ? null : part.text;
}

/** Returns the media that the model receives with the history. */
export function visibleMedia(state: State): PartRef[] {
  const { entries, summary } = marksOf(state);
  const items = entries.flatMap((entry) => entry.items.slice(summarisedItems(entry, summary)));
  return items.flatMap(mediaOf);
}

/** Returns the part of a state that the turn's own file holds. */
export function stateFile(state: State): StateFile {
  const base = state.bases.at(-2) ?? null;
  const since = base === null ? 0 : base.depth;
  return {
    format: 1,
    turnId: state.turnId,
    depth: state.depth,
    base: base === null ? null : base.turnId,
    entries: state.entries.slice(1 + state.entries.findLastIndex((entry) => entry.depth <= since)),
  };
}

/** Returns the state that the files of a chain make up. The files are given oldest first. */
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

/** Returns all items of a history, oldest first. */
export function historyItems(state: State): HistoryItem[] {
  return state.entries.flatMap((entry) => entry.items);
}

/** Returns the parts of all inputs so far, by name. If two parts have the same name, the newer one counts (I1). */
export function readableInputs(state: State): Map<string, PartRef> {
  return new Map(marksOf(state).entries.flatMap(({ inputs = [] }) => inputs.map((part) => [part.name, part] as const)));
}

/** Returns the newest summary of a history, or null if there is none. */
export function historySummary(state: State): HistorySummary | null {
  return marksOf(state).summary;
}

/** Returns how many items of an entry a summary stands for. */
export function summarisedItems({ depth, items }: StateEntry, summary: HistorySummary | null): number {
  if (summary === null || depth > summary.throughDepth) return 0;
  return depth === summary.throughDepth ? (summary.throughItems ?? items.length) : items.length;
}

/** Returns the history as the model receives it: the whole history, or the newest summary and what follows it (C6). */
export function visibleItems(state: State): HistoryItem[] {
  const summary = historySummary(state);
  const isShown = shownItems(state);
  const items = state.entries.flatMap((entry) => {
    const hidden = summarisedItems(entry, summary);
    return entry.items.filter((_, at) => at >= hidden && isShown(entry.turnId, at));
  });
  return summary === null ? items : [summaryItem(summary), ...items];
}

/** Returns a function that says whether an item of the history was not hidden. */
export function shownItems(state: State): (turnId: string, at: number) => boolean {
  const hidden = new Set(state.entries.flatMap(({ hides = [] }) => hides.map(itemKey)));
  return (turnId, at) => hidden.size === 0 || !hidden.has(itemKey({ turnId, at }));
}

function itemKey({ turnId, at }: ItemRef): string {
  return `${turnId} ${at}`;
}

/** Returns the texts of all user messages that the model receives, newest first. */
export function historyTexts(state: State): string[] {
  return visibleItems(state)
    .flatMap((item) => (item.type === "user" ? item.parts : []))
    .toReversed();
}

type SummaryTexts = Pick<HistorySummary, "text" | "instruction" | "unnamed" | "pinned">;

export function summaryItem({ text, instruction, unnamed, pinned }: SummaryTexts): HistoryItem {
  const others = unnamed === undefined ? "" : `\n\nTurns that no line names: ${unnamed}`;
  const parts = [`[SUMMARY OF THE CONVERSATION SO FAR]\n${text}${others}`];
  if (pinned !== undefined) parts.push(pinned.block);
  if (instruction !== undefined) parts.push(`[THE INSTRUCTION THAT IS BEING CARRIED OUT]\n${instruction}`);
  return { type: "user", parts };
}

/** Returns true if a summary stands for the message of a turn, and so for the chunks and files that were sent with it. */
function hidesMessage(entry: StateEntry, summary: HistorySummary | null): boolean {
  if (summary === null || entry.depth > summary.throughDepth) return false;
  const hidden = summarisedItems(entry, summary);
  return hidden === entry.items.length || entry.items.slice(0, hidden).some(({ type }) => type === "user");
}

/** Returns the ids of the pins whose passages the model receives word for word, beside or instead of their turns (M6). */
export function repeatedPins(state: State): Set<string> {
  const { entries, summary } = marksOf(state);
  const visible = entries.filter((entry) => !hidesMessage(entry, summary));
  return new Set([...(summary?.pinned?.ids ?? []), ...visible.flatMap(({ pins = [] }) => pins)]);
}

/** Everything that the model already received in this history (Q4, X3, X6). */
export interface AlreadySent {
  chunkKeys: Set<string>;
  /** The hash of each whole file that the model has, by path. A version that no longer counts is left out. */
  files: Map<string, string>;
  /** The hash of the version that counts as far as the model knows, by path. Empty: the file does not exist. */
  noted: Map<string, string>;
  /** The commit of the index when the file was sent, by path. */
  indexed: Map<string, string>;
  /** What was warned of. */
  warned: Set<string>;
}

export function chunkKey(chunk: { id: string; hash: string }): string {
  return `${chunk.id}\u0000${chunk.hash}`;
}

export function alreadySent(state: State): AlreadySent {
  const sent: AlreadySent = {
    chunkKeys: new Set(),
    files: new Map(),
    noted: new Map(),
    indexed: new Map(),
    warned: new Set(),
  };
  const { entries, summary } = marksOf(state);
  for (const entry of entries) if (!hidesMessage(entry, summary)) noteSent(sent, entry);
  return sent;
}

/** Adds what one more turn sent. */
export function noteSent(sent: AlreadySent, { chunks, files, warned = [] }: SentContext): void {
  for (const warning of warned) sent.warned.add(warning);
  for (const chunk of chunks) sent.chunkKeys.add(chunkKey(chunk));
  for (const { path, hash, isNews, indexed } of files) {
    if (isNews === true) sent.files.delete(path);
    else sent.files.set(path, hash);
    sent.noted.set(path, hash);
    if (indexed === undefined) sent.indexed.delete(path);
    else sent.indexed.set(path, indexed);
  }
}

/** Returns the newest hash that a note has for a file with rules, by path. A note that a summary hides does not count. */
export function notedRules(state: State): Map<string, string> {
  const { entries, summary } = marksOf(state);
  const visible = entries.filter((entry) => !hidesMessage(entry, summary));
  return new Map(visible.flatMap(({ rules = [] }) => rules.map(({ path, hash }) => [path, hash] as const)));
}
