/** Sums over the cells of a report of costs. Pure. */
import type { WireCosts } from "../../src/client/client.ts";

export type CostCell = WireCosts["cells"][number];

export interface Sum {
  key: string;
  turns: number;
  dollars: number;
  /** True if the price of a part is not known: the money is the least that it cost. */
  isAtLeast: boolean;
  /** True if the tokens of a part are not known: the counts are the least that it used. */
  isPartial: boolean;
  input: number;
  cached: number;
  output: number;
}

const nothing = { turns: 0, dollars: 0, isAtLeast: false, isPartial: false, input: 0, cached: 0, output: 0 };

/** Returns a sum for each key, the dearest first. */
export function sumsBy(cells: readonly CostCell[], keyOf: (cell: CostCell) => string): Sum[] {
  const sums = new Map<string, Sum>();
  for (const cell of cells) {
    const key = keyOf(cell);
    sums.set(key, added(sums.get(key) ?? { key, ...nothing }, cell));
  }
  return [...sums.values()].toSorted((a, b) => b.dollars - a.dollars || tokensOf(b) - tokensOf(a));
}

export function total(cells: readonly CostCell[]): Sum {
  return cells.reduce(added, { key: "", ...nothing });
}

export function tokensOf({ input, output }: Sum): number {
  return input + output;
}

function added(sum: Sum, { turns, usage }: CostCell): Sum {
  const { costUsd, inputTokens, cachedTokens, outputTokens } = usage;
  return {
    ...sum,
    turns: sum.turns + turns,
    dollars: sum.dollars + (costUsd ?? 0),
    isAtLeast: sum.isAtLeast || costUsd === undefined || usage.isPartial === true,
    isPartial: sum.isPartial || usage.isPartial === true,
    input: sum.input + (inputTokens ?? 0),
    cached: sum.cached + (cachedTokens ?? 0),
    output: sum.output + (outputTokens ?? 0),
  };
}

/** Every day of the period, oldest first, so that a day without turns is a gap in the plot. */
export function daysOf(from: string, until: string): string[] {
  const days: string[] = [];
  for (let at = Date.parse(from); at <= Date.parse(until); at += 86_400_000)
    days.push(new Date(at).toISOString().slice(0, 10));
  return days;
}

const columns = ["day", "session", "user", "model", "turns", "input", "cached", "output", "usd"];

/** The cells as CSV. A text that a spreadsheet would take for a formula gets an apostrophe before it. */
export function csvOf(
  cells: readonly CostCell[],
  names: { session(id: string): string; user(id: string): string },
): string {
  const rows = cells.map(({ day, sessionId, userId, model, turns, usage }) => [
    day,
    names.session(sessionId),
    names.user(userId),
    model,
    turns,
    usage.inputTokens ?? "",
    usage.cachedTokens ?? "",
    usage.outputTokens ?? "",
    usage.costUsd ?? "",
  ]);
  return [columns, ...rows].map((row) => row.map(csvField).join(",")).join("\r\n") + "\r\n";
}

function csvField(value: string | number): string {
  if (typeof value === "number") return String(value);
  const safe = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
