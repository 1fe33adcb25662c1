/** One figure of a benchmark. */
export interface BenchRow {
  name: string;
  /** NaN if it was not run; the note says why. */
  value: number;
  unit: string;
  /** The value over that of the floor in the same run. If present, limit and aim are for it. */
  ratio?: number;
  /** What the figure must keep to. If absent, the figure is only information. */
  limit?: number;
  /** What the figure should reach. */
  aim?: number;
  /** True if limit and aim are the least and not the most. */
  isLeast?: boolean;
  note?: string;
}

/** How thoroughly a bench measures. */
export interface Rounds {
  /** The number of times that those who are compared take turns. */
  rounds: number;
}

export function median(values: readonly number[]): number {
  return percentile(values, 50);
}

/** Returns the percentile of the values, or 0 if there are no values. */
export function percentile(values: readonly number[], percent: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor((sorted.length * percent) / 100))] ?? 0;
}

/** Returns the median of the values over those of the floor, round by round, because a round has one state of the machine. */
export function medianRatio(values: readonly number[], floor: readonly number[]): number {
  return median(values.map((value, round) => value / (floor[round] ?? Number.NaN)));
}

/** Returns the items in another order in each round, so that none is always measured after the same other one. */
export function inTurn<T>(items: readonly T[], round: number): T[] {
  const first = round % items.length;
  return [...items.slice(first), ...items.slice(0, first)];
}
