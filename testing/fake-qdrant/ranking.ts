/** The ranking of the fake, like the server's: cosine, BM25 with the rarity of terms in a corpus, and reciprocal rank fusion. */
import type { Bodies, FakeDocument, FakeFusion, FakePrefetch } from "./bodies.ts";
import { Refused, termsIn, type FakeCollection, type StoredPoint } from "./points.ts";

export interface Ranked {
  point: StoredPoint;
  score: number;
}

/** `reversed`: equal scores are in reverse order. The real server promises no order for them. */
export function ranked(collection: FakeCollection, body: Bodies["query"], reversed: boolean): Ranked[] {
  return "prefetch" in body ? fused(collection, body, reversed) : rankedBy(collection, body);
}

function fused(collection: FakeCollection, { prefetch, query, limit }: FakeFusion, reversed: boolean): Ranked[] {
  const { k, weights } = query.rrf;
  if (weights.length !== prefetch.length) {
    throw new Refused(400, "Number of weights in RRF should match number of pre-fetches");
  }
  const scores = new Map<StoredPoint, number>();
  for (const [at, one] of prefetch.entries()) {
    const weight = weights[at] ?? 1;
    for (const [place, { point }] of rankedBy(collection, one).entries()) {
      const score = weight <= 0 ? 0 : 1 / ((place + 1) / weight + k - 1);
      scores.set(point, (scores.get(point) ?? 0) + score);
    }
  }
  const found = [...scores].map(([point, score]) => ({ point, score }));
  return best(reversed ? found.toReversed() : found, limit);
}

function rankedBy(collection: FakeCollection, prefetch: FakePrefetch): Ranked[] {
  const { filter, limit, using } = prefetch;
  const points = collection.matching(filter);
  if ("score_threshold" in prefetch) {
    const question = collection.normalized(using, prefetch.query.nearest);
    const found = points.flatMap((point) => {
      const vector = point.dense.get(using);
      return vector === undefined ? [] : [{ point, score: dot(question, vector) }];
    });
    return best(
      found.filter(({ score }) => score > prefetch.score_threshold),
      limit,
    );
  }
  collection.checkSparse(using);
  const corpus = collection.matching(prefetch.params.idf.corpus);
  return best(byWords({ points, corpus, using }, prefetch.query.nearest), limit);
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
