/**
 * Takes forgotten facts out of a history (M3). The stored history keeps what turns had, because it never changes. What a later
 * request is built from is a copy without the messages' parts that brought the facts, without the text in the calls that
 * made them, and without the summaries that stand for either.
 */
import type { SentFact } from "./fact.ts";
import type { HistoryItem, UserItem } from "./history.ts";
import { factEntries, visibleFactEntries, type State, type StateEntry } from "./lineage.ts";
import { forgottenArguments, rememberedIn, type Remembered } from "./remembered.ts";

/** Returns the first line of the part of a message that has a fact. */
export function factHeader(id: string): string {
  return `=== FACT ${id} ===\n`;
}

/** The first part of a message with facts. It stands in front of the parts that have them. */
export const memoryHeader = "[MEMORY]\n";

/** Returns the facts that the model has from the history, the newest version of each by id. */
export function knownFacts(state: State): Map<string, SentFact> {
  return factsIn(state, visibleFactEntries(state));
}

/** Returns the facts that the history contains, also in what a summary stands for, by id. */
export function containedFacts(state: State): Map<string, SentFact> {
  return factsIn(state, factEntries(state));
}

function factsIn(state: State, entries: readonly StateEntry[]): Map<string, SentFact> {
  const made = rememberedIn(factEntries(state));
  return new Map(
    entries.flatMap((entry) =>
      [...(entry.facts ?? []), ...(made.get(entry) ?? [])].map((fact) => [fact.id, fact] as const),
    ),
  );
}

/**
 * Returns the history without the facts that its turns have forgotten, and without those of `now`. Returns the same object if
 * there is nothing to take out. Items keep their places.
 */
export function withoutForgotten(state: State, now: readonly string[] = []): State {
  const touched = factEntries(state);
  if (now.length === 0 && !touched.some(({ forgets = [] }) => forgets.length > 0)) return state;
  const forgotten = new Set(now);
  // A fact that was written down again after it was forgotten stays, so only what came before is taken out.
  const gone: { id: string; depth: number; before: number }[] = [];
  const entries = [...state.entries];
  const isTouched = new Set(touched);
  const made = rememberedIn(touched);
  for (let at = entries.length - 1; at >= 0; at -= 1) {
    const entry = entries[at] as StateEntry;
    if (!isTouched.has(entry)) continue;
    const own = made.get(entry) ?? [];
    for (const { id } of [...(entry.facts ?? []), ...own]) {
      if (forgotten.has(id)) gone.push({ id, depth: entry.depth, before: at });
    }
    entries[at] = withoutFacts(entry, { forgotten, made: own });
    for (const id of entry.forgets ?? []) forgotten.add(id);
  }
  return { ...state, entries: withoutSummaries(entries, { now, gone }) };
}

interface Forgetting {
  forgotten: ReadonlySet<string>;
  /** The facts that calls of the entry made. */
  made: readonly Remembered[];
}

function withoutFacts(entry: StateEntry, { forgotten, made }: Forgetting): StateEntry {
  const remembered = made.filter(({ id }) => forgotten.has(id));
  const brought = (entry.facts ?? []).filter(({ id }) => forgotten.has(id));
  if (remembered.length === 0 && brought.length === 0) return entry;
  const headers = brought.map(({ id }) => factHeader(id));
  const calls = new Set(remembered.map(({ callId }) => callId));
  const { facts = [], ...others } = entry;
  return {
    ...others,
    facts: facts.filter(({ id }) => !forgotten.has(id)),
    items: entry.items.map((item) => withoutFact(item, { headers, calls })),
  };
}

function withoutFact(
  item: HistoryItem,
  { headers, calls }: { headers: readonly string[]; calls: ReadonlySet<string> },
): HistoryItem {
  if (item.type === "tool_call" && calls.has(item.callId)) return { ...item, arguments: forgottenArguments };
  // A message of the system is the caller's own.
  return item.type === "user" && item.rank === undefined ? withoutParts(item, headers) : item;
}

function withoutParts(item: UserItem, headers: readonly string[]): UserItem {
  const parts = item.parts.filter((text) => !headers.some((header) => text.startsWith(header)));
  if (parts.length === item.parts.length) return item;
  // Without facts, the words in front of them say nothing.
  const hasFacts = parts.some((text) => text.startsWith("=== FACT "));
  return { ...item, parts: hasFacts ? parts : parts.filter((text) => !text.startsWith(memoryHeader)) };
}

interface Gone {
  now: readonly string[];
  /** What was taken out: the fact, and the entry that had it. */
  gone: readonly { id: string; depth: number; before: number }[];
}

/** Removes the summaries that were made of a fact which was forgotten after them. */
function withoutSummaries(entries: readonly StateEntry[], { now, gone }: Gone): StateEntry[] {
  const lastForgotten = new Map(entries.flatMap(({ forgets = [] }, at) => forgets.map((id) => [id, at] as const)));
  for (const id of now) lastForgotten.set(id, entries.length);
  return entries.map((entry, at) => {
    const { summary, ...others } = entry;
    if (summary === undefined) return entry;
    const carries = gone.some(
      ({ id, depth, before }) => before <= at && depth <= summary.throughDepth && (lastForgotten.get(id) ?? -1) > at,
    );
    return carries ? others : entry;
  });
}
