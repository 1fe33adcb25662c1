/** Which of the faults a run puts in. */
import type { Mutant } from "./mutant.ts";

export interface Choice {
  /** The names of the faults. Empty: all. */
  only: readonly string[];
  /** How many of them. Null: all. */
  sample: number | null;
  seed: number;
}

/** Returns the chosen faults in the order of the list, or the names that are in no list. */
export function chosenMutants(all: readonly Mutant[], choice: Choice): { mutants: Mutant[] } | { unknown: string[] } {
  const names = new Set(all.map(({ name }) => name));
  const unknown = choice.only.filter((name) => !names.has(name));
  if (unknown.length > 0) return { unknown };
  const wanted = all.filter(({ name }) => choice.only.length === 0 || choice.only.includes(name));
  if (choice.sample === null) return { mutants: wanted };
  const drawn = new Set(shuffled(wanted, choice.seed).slice(0, choice.sample));
  return { mutants: wanted.filter((mutant) => drawn.has(mutant)) };
}

/** Returns the items in an order that the seed alone decides. */
function shuffled<T>(items: readonly T[], seed: number): T[] {
  const result = [...items];
  let state = (seed + 1) >>> 0;
  for (let at = result.length - 1; at > 0; at -= 1) {
    // A linear congruential generator; its high bits are good enough to draw a sample.
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    const other = Math.floor((state / 2 ** 32) * (at + 1));
    [result[at], result[other]] = [result[other] as T, result[at] as T];
  }
  return result;
}
