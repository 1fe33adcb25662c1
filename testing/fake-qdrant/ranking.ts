/** The ranking of the fake, like the server's: cosine, and BM25 with the rarity of terms in a corpus. */
import type { FakeDocument, FakeSearch } from "./bodies.ts";
import { termsIn, type FakeCollection, type StoredPoint } from "./points.ts";

export interface Ranked {
  point: StoredPoint;
  score: number;
}

/** `reversed`: equal scores are in reverse order. The real server promises no order for them. */
export function ranked(collection: FakeCollection, search: FakeSearch, reversed: boolean): Ranked[] {
  const { filter, limit, using } = search;
  const points = collection.matching(filter);
  if (reversed) points.reverse();
  if ("score_threshold" in search) {
    const question = collection.normalized(using, search.query.nearest);
    const found = points.flatMap((point) => {
      const vector = point.dense.get(using);
      return vector === undefined ? [] : [{ point, score: dot(question, vector) }];
    });
    return best(
      found.filter(({ score }) => score > search.score_threshold),
      limit,
    );
  }
  collection.checkSparse(using);
  const corpus = collection.matching(search.params.idf.corpus);
  return best(byWords({ points, corpus, using }, search.query.nearest), limit);
}

function byWords(
  { points, corpus, using }: { points: StoredPoint[]; corpus: StoredPoint[]; using: string },
  { text }: FakeDocument,
): Ranked[] {
  const documents = corpus.flatMap((point) => point.sparse.get(using) ?? []);
  const rarities = new Map(
    [...new Set(termsIn(text))].map((term) => {
      const having = documents.filter((weights) => weights.has(term)).length;
      return [term, Math.log((documents.length - having + 0.5) / (having + 0.5) + 1)];
    }),
  );
  return points.flatMap((point) => {
    const weights = point.sparse.get(using);
    const shared = [...rarities].filter(([term]) => weights?.has(term) === true);
    if (shared.length === 0) return [];
    return [{ point, score: shared.reduce((sum, [term, rarity]) => sum + rarity * (weights?.get(term) ?? 0), 0) }];
  });
}

function best(found: Ranked[], limit: number): Ranked[] {
  return found.toSorted((one, other) => other.score - one.score).slice(0, limit);
}

function dot(one: Float32Array, other: Float32Array): number {
  return one.reduce((sum, value, at) => sum + value * (other[at] ?? 0), 0);
}
