/** Random numbers from a seed: the same seed gives the same numbers on every machine. */

export interface Random {
  /** Returns a number that is at least 0 and below 1. */
  next(): number;
  /** Returns a whole number that is at least 0 and below `count`. */
  below(count: number): number;
  chance(probability: number): boolean;
  pick<T>(from: readonly T[]): T | undefined;
  /** Returns one of these values, by weight. */
  weighted<T>(from: readonly (readonly [weight: number, value: T])[]): T;
  /** Returns another source, which later draws from this one do not change. */
  fork(): Random;
}

/** Mulberry32: 32 bits of state, which is plenty for choosing what to do next. */
export function seededRandom(seed: number): Random {
  let state = seed | 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const below = (count: number): number => Math.floor(next() * count);
  return {
    next,
    below,
    chance: (probability) => next() < probability,
    pick: (from) => from[below(from.length)],
    weighted: (from) => weighted(from, next()),
    fork: () => seededRandom(below(2 ** 31)),
  };
}

function weighted<T>(from: readonly (readonly [number, T])[], at: number): T {
  let left = at * from.reduce((sum, [weight]) => sum + weight, 0);
  for (const [weight, value] of from) {
    left -= weight;
    if (left < 0) return value;
  }
  const last = from.at(-1);
  if (last === undefined) throw new RangeError("there is nothing to choose from");
  return last[1];
}
