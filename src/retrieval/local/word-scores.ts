/**
 * Scores by words (Q3): BM25 over the lists of postings. Each field is scored by itself: in one text, a symbol's single mention would
 * not count beside the many in a long body.
 */
import { rarity, type Evidence } from "../evidence.ts";
import type { WordRanking } from "../ranking/question.ts";
import type { ChunkSet } from "./chunk-set.ts";
import type { IndexDatabase, RepositoryRow } from "./index-file.ts";
import { readEntries, segmentsOf } from "./postings.ts";

/** The usual constants: how fast further mentions count less, and how much a long text is worth less. */
const saturation = 1.2;
const lengthShare = 0.75;
const fieldWeights = { all: { body: 1, symbol: 1, path: 0.8 }, symbol: { body: 0, symbol: 1, path: 0 } };
/**
 * How many bytes of lists a question reads. The rarest of its words come first: one that is in half of the chunks costs most and
 * distinguishes least.
 */
const listBytesMax = 1_500_000;

/** The chunks that have a term, as rows of the set, with the counts in each field. */
interface TermEntries {
  term: string;
  rows: Uint32Array;
  body: Uint8Array;
  symbol: Uint8Array;
  path: Uint8Array;
  count: number;
}

/** The chunks among which a term is rare or common, and a text long or short. */
export interface Corpus {
  rows: number;
  meanLength: number;
  /** Returns how many of the chunks have the term. */
  chunksWith(term: string): number;
}

/** Returns several indexes as one corpus, so that their scores are on one scale. */
export function oneCorpus(indexes: readonly { set: ChunkSet; words: WordScores }[]): Corpus {
  const rows = indexes.reduce((sum, { set }) => sum + set.rows, 0);
  const length = indexes.reduce((sum, { set }) => sum + set.rows * set.meanLength, 0);
  return {
    rows,
    meanLength: length / Math.max(1, rows),
    chunksWith: (term) => indexes.reduce((sum, { words }) => sum + words.chunksWith(term), 0),
  };
}

/** The scores of one question in one index. The lists of its terms are read once. */
export class WordScores {
  readonly #set: ChunkSet;
  readonly #read: (term: string) => Uint8Array[];
  readonly #entries = new Map<string, TermEntries>();

  constructor(database: IndexDatabase, repository: RepositoryRow, set: ChunkSet) {
    this.#set = set;
    const segments = segmentsOf(database, repository.id);
    const select = database
      .prepare<[number, string], Uint8Array>("SELECT entries FROM postings WHERE segment = ? AND term = ?")
      .pluck();
    this.#read = (term) => segments.flatMap(({ number }) => (select.get(number, term) as Uint8Array | undefined) ?? []);
  }

  /** Returns the score of every row, 0 for those that have none of the terms. */
  score({ field, terms }: WordRanking, corpus: Corpus): Float32Array {
    const scores = new Float32Array(this.#set.rows);
    for (const entries of this.#affordable(terms)) addScores(scores, entries, { set: this.#set, field, corpus });
    return scores;
  }

  /** Returns how many chunks have a term. */
  chunksWith(term: string): number {
    return this.#entriesOf(term).count;
  }

  /** Returns the evidence that rows are about these terms. A term in the path or the symbol counts twice, because chunks are about that. */
  evidence(terms: readonly string[], rows: readonly number[], corpus: Corpus): Evidence[] {
    const evidence = rows.map((): Evidence => ({ sum: 0, terms: 0 }));
    // The place of a row among those asked for, plus one: a term may have tens of thousands of rows, and each is looked up.
    const places = new Uint16Array(this.#set.rows);
    for (const [place, row] of rows.entries()) places[row] = place + 1;
    for (const entries of this.#affordable(terms)) {
      const rare = rarity(corpus.chunksWith(entries.term), corpus.rows);
      for (let at = 0; at < entries.count; at += 1) {
        const found = evidence[(places[entries.rows[at] as number] as number) - 1];
        if (found === undefined) continue;
        const isNamed = (entries.symbol[at] as number) + (entries.path[at] as number) > 0;
        found.sum += rare * (isNamed ? 2 : 1);
        found.terms += 1;
      }
    }
    return evidence;
  }

  /** Returns the entries of the terms that are in the index, rarest first: as many as can be read in time, but at least one. */
  #affordable(terms: readonly string[]): TermEntries[] {
    const known = terms.map((term) => this.#entriesOf(term)).filter(({ count }) => count > 0);
    let bytes = 0;
    return known
      .toSorted((one, other) => one.count - other.count)
      .filter(({ count }, at) => (bytes += count) <= listBytesMax || at === 0);
  }

  #entriesOf(term: string): TermEntries {
    let entries = this.#entries.get(term);
    if (entries === undefined) this.#entries.set(term, (entries = { term, ...decode(this.#read(term), this.#set) }));
    return entries;
  }
}

/** Reads lists, without the chunks that a later run removed. */
function decode(lists: Uint8Array[], set: ChunkSet): Omit<TermEntries, "term"> {
  // An entry has at least two bytes.
  const most = lists.reduce((sum, { length }) => sum + (length >>> 1), 0);
  const [body, symbol, path] = [new Uint8Array(most), new Uint8Array(most), new Uint8Array(most)];
  const entries = { rows: new Uint32Array(most), body, symbol, path, count: 0 };
  const rowOf = set.rowFinder();
  for (const list of lists) {
    readEntries(list, (entry) => {
      const row = rowOf(entry.number);
      if (row === -1) return;
      const at = entries.count++;
      entries.rows[at] = row;
      body[at] = entry.body;
      symbol[at] = entry.symbol;
      path[at] = entry.path;
    });
  }
  return entries;
}

function addScores(
  scores: Float32Array,
  { term, rows, body, symbol, path, count }: TermEntries,
  { set, field, corpus }: { set: ChunkSet; field: WordRanking["field"]; corpus: Corpus },
): void {
  const weights = fieldWeights[field];
  const { lengths } = set;
  const { meanLength } = corpus;
  const rare = rarity(corpus.chunksWith(term), corpus.rows) * (saturation + 1);
  for (let at = 0; at < count; at += 1) {
    const row = rows[at] as number;
    const inBody = body[at] as number;
    const names = weights.symbol * saturated(symbol[at] as number) + weights.path * saturated(path[at] as number);
    const length = 1 - lengthShare + (lengthShare * (lengths[row] as number)) / meanLength;
    const score = names + (weights.body * inBody) / (inBody + saturation * length);
    scores[row] = (scores[row] as number) + rare * score;
  }
}

/** Names have no length to speak of. */
function saturated(count: number): number {
  return count === 0 ? 0 : count / (count + saturation);
}
