/** The fake's collections: the stored points, and the filters. */
import type { Bodies, FakeCondition, FakeDocument, FakeFilter } from "./bodies.ts";

export interface StoredPoint {
  id: string;
  version: number;
  dense: Map<string, Float32Array>;
  /** Weights by term. */
  sparse: Map<string, Map<string, number>>;
  payload: Record<string, unknown>;
}

/** A request that the real server refuses too. */
export class Refused extends Error {
  readonly status: number;
  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/** Constants of the server's `qdrant/bm25`. */
const bm25 = { k: 1.2, b: 0.75, averageLength: 256 };

export class FakeCollection {
  readonly config: Bodies["createCollection"];
  readonly indexes = new Map<string, Bodies["createIndex"]["field_schema"]>();
  readonly points = new Map<string, StoredPoint>();
  #operations = 0;

  constructor(config: Bodies["createCollection"]) {
    this.config = config;
  }

  upsert({ points, update_mode }: Bodies["upsert"]): number {
    const stored = points.map((point) => this.#stored(point));
    for (const point of stored)
      if (update_mode === undefined || !this.points.has(point.id)) this.points.set(point.id, point);
    return (this.#operations += 1);
  }

  #stored({ id, vector, payload }: Bodies["upsert"]["points"][number]): StoredPoint {
    const point: StoredPoint = { id, version: this.#operations, dense: new Map(), sparse: new Map(), payload };
    for (const [name, value] of Object.entries(vector)) {
      if (Array.isArray(value)) point.dense.set(name, this.normalized(name, value));
      else point.sparse.set(name, this.#weights(name, value));
    }
    return point;
  }

  /** Cosine is a dot product once all have the length 1. */
  normalized(name: string, vector: readonly number[]): Float32Array {
    const size = this.config.vectors[name]?.size;
    if (size === undefined) throw new Refused(400, `Wrong input: Not existing vector name error: ${name}`);
    if (size !== vector.length) {
      throw new Refused(400, `Wrong input: Vector dimension error: expected dim: ${size}, got ${vector.length}`);
    }
    const length = Math.hypot(...vector);
    return Float32Array.from(vector, (value) => (length === 0 ? 0 : value / length));
  }

  #weights(name: string, { text }: FakeDocument): Map<string, number> {
    this.checkSparse(name);
    const terms = termsIn(text);
    const counts = new Map<string, number>();
    for (const term of terms) counts.set(term, (counts.get(term) ?? 0) + 1);
    const norm = bm25.k * (1 - bm25.b + (bm25.b * terms.length) / bm25.averageLength);
    return new Map([...counts].map(([term, count]) => [term, (count * (bm25.k + 1)) / (count + norm)]));
  }

  checkSparse(name: string): void {
    if (this.config.sparse_vectors?.[name] !== undefined) return;
    throw new Refused(400, `Wrong input: Not existing vector name error: ${name}`);
  }

  changePayload({ payload, filter }: Bodies["changePayload"], how: "set" | "overwrite"): number {
    for (const point of this.matching(filter)) {
      point.payload = how === "set" ? { ...point.payload, ...payload } : payload;
    }
    return (this.#operations += 1);
  }

  remove(selector: Bodies["remove"]): number {
    const ids = "points" in selector ? selector.points : this.matching(selector.filter).map(({ id }) => id);
    for (const id of ids) this.points.delete(id);
    return (this.#operations += 1);
  }

  /** The points by id. */
  matching(filter: FakeFilter): StoredPoint[] {
    const found = [...this.points.values()].filter((point) => this.#lets(filter, point));
    return found.toSorted((one, other) => (one.id < other.id ? -1 : 1));
  }

  #lets(filter: FakeFilter, point: StoredPoint): boolean {
    if ("should" in filter) return filter.should.map((one) => this.#lets(one, point)).some(Boolean);
    const { must = [], must_not = [] } = filter;
    // All conditions are checked, so that a field without an index is found whatever the points are.
    const held = must.map((condition) => this.#holds(condition, point));
    const broken = must_not.map((condition) => this.#holds(condition, point));
    return held.every(Boolean) && !broken.some(Boolean);
  }

  #holds(condition: FakeCondition, point: StoredPoint): boolean {
    if ("should" in condition) return condition.should.map((one) => this.#holds(one, point)).some(Boolean);
    if ("has_id" in condition) return condition.has_id.includes(point.id);
    const index = this.indexes.get(condition.key);
    if (index === undefined) throw new Refused(400, `Index required but not found for "${condition.key}"`);
    const value = point.payload[condition.key];
    const values: unknown[] = Array.isArray(value) ? value : [value];
    if ("range" in condition) {
      const { lte = Infinity, gt = -Infinity } = condition.range;
      return values.some((one) => typeof one === "number" && one <= lte && one > gt);
    }
    const wanted: readonly unknown[] = "any" in condition.match ? condition.match.any : [condition.match.value];
    const type = index.type === "keyword" ? "string" : "number";
    if (wanted.some((one) => typeof one !== type))
      throw new Refused(400, `Index of "${condition.key}" is of another type`);
    return values.some((one) => wanted.includes(one));
  }
}

export function termsIn(text: string): string[] {
  return text.split(/\s+/u).filter((term) => term !== "");
}
