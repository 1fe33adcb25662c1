/** Times in messages for people. */

/** Returns a time as a person says it, in the largest unit that keeps it exact enough: `40 ms`, `90 s`, `4 minutes`, `3 hours`. It is rounded up. */
export function spokenTime(ms: number): string {
  if (ms > 0 && ms < 1_000) return `${Math.ceil(ms)} ms`;
  if (ms < 120_000) return `${Math.ceil(ms / 1_000)} s`;
  return ms < 7_200_000 ? `${Math.ceil(ms / 60_000)} minutes` : `${Math.ceil(ms / 3_600_000)} hours`;
}
