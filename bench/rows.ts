/** One figure of a benchmark. */
export interface BenchRow {
  name: string;
  value: number;
  unit: string;
  /** The largest allowed value. If absent, the figure is only information. */
  limit?: number;
  note?: string;
}

export function median(values: readonly number[]): number {
  return percentile(values, 50);
}

/** Returns the percentile of the values, or 0 if there are no values. */
export function percentile(values: readonly number[], percent: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor((sorted.length * percent) / 100))] ?? 0;
}
