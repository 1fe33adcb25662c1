/** The figures of a run, and the comparison of two. */
import type { CaseOutcome } from "./measure.ts";

const resamples = 2_000;

export interface Figures {
  cases: number;
  acc: Record<1 | 3 | 5 | 10, number>;
  mrr: number;
  sentFile: number;
  sentLine: number;
  tokens: number;
  useless: number;
  plain5: number | null;
}

export function figuresOf(outcomes: readonly CaseOutcome[]): Figures {
  const share = (test: (outcome: CaseOutcome) => boolean): number =>
    mean(outcomes.map((each) => (test(each) ? 100 : 0)));
  const within = (count: number) => share(({ rank }) => rank !== null && rank <= count);
  const sum = (of: (outcome: CaseOutcome) => number): number => outcomes.reduce((total, each) => total + of(each), 0);
  const plain = outcomes.filter(({ plainRank }) => plainRank !== undefined);
  return {
    cases: outcomes.length,
    acc: { 1: within(1), 3: within(3), 5: within(5), 10: within(10) },
    mrr: mean(outcomes.map(({ rank }) => (rank === null ? 0 : 1 / rank))),
    sentFile: share(({ sentFile }) => sentFile),
    sentLine: share(({ sentLine }) => sentLine),
    tokens: mean(outcomes.map(({ tokens }) => tokens)),
    useless:
      (100 * sum(({ uselessTokens }) => uselessTokens)) /
      Math.max(
        1,
        sum(({ tokens }) => tokens),
      ),
    plain5: plain.length === 0 ? null : mean(plain.map(({ plainRank }) => ((plainRank ?? Infinity) <= 5 ? 100 : 0))),
  };
}

/** Formats a table: one line per repository and kind of change, then the mean of cases and of repositories. */
export function formatReport(outcomes: readonly CaseOutcome[]): string {
  const lines: string[] = [heading];
  for (const kind of ["code", "tests", "docs"] as const) {
    const ofKind = outcomes.filter((each) => each.kind === kind);
    if (ofKind.length === 0) continue;
    const byRepository = Map.groupBy(ofKind, ({ repository }) => repository);
    const figures = [...byRepository].map(([name, each]) => ({ name, figures: figuresOf(each) }));
    for (const { name, figures: one } of figures) lines.push(line(`${kind} ${name}`, one));
    lines.push(line(`${kind}: all cases`, figuresOf(ofKind)));
    if (figures.length > 1) {
      const acc5 = mean(figures.map(({ figures: one }) => one.acc[5]));
      const sent = mean(figures.map(({ figures: one }) => one.sentFile));
      lines.push(`${kind}: mean of repositories: @5 ${acc5.toFixed(1)}, file sent ${sent.toFixed(1)}`);
    }
  }
  return lines.join("\n");
}

const columns = ["cases", "@1", "@3", "@5", "@10", "MRR", "file", "line", "tokens", "useless", "BM25 @5"];
const heading = `${"".padEnd(34)}${columns.map((each) => each.padStart(8)).join("")}`;

function line(name: string, { cases, acc, mrr, sentFile, sentLine, tokens, useless, plain5 }: Figures): string {
  const shares = [acc[1], acc[3], acc[5], acc[10]].map((each) => each.toFixed(1));
  const sent = [sentFile.toFixed(1), sentLine.toFixed(1), tokens.toFixed(0), useless.toFixed(1)];
  const cells = [String(cases), ...shares, mrr.toFixed(3), ...sent, plain5?.toFixed(1) ?? "-"];
  return name.slice(0, 33).padEnd(34) + cells.map((each) => each.padStart(8)).join("");
}

/**
 * Compares two runs by the cases that both have: the difference of acc@5 with a bootstrap interval, and which cases were won and
 * lost. Small differences count only if the interval is on one side of zero.
 */
export function formatComparison(before: readonly CaseOutcome[], after: readonly CaseOutcome[]): string {
  const known = new Map(before.map((each) => [keyOf(each), each]));
  const lines: string[] = [];
  for (const kind of ["code", "tests", "docs"] as const) {
    const pairs = after.flatMap((each) => {
      const former = known.get(keyOf(each));
      return each.kind !== kind || former === undefined ? [] : [{ former, each }];
    });
    if (pairs.length === 0) continue;
    for (const [name, hit] of Object.entries(hits)) {
      const differences = pairs.map(({ former, each }) => Number(hit(each)) - Number(hit(former)));
      const [low, high] = interval(differences);
      const count = (sign: number): number => differences.filter((each) => each === sign).length;
      const change = (100 * mean(differences)).toFixed(1);
      lines.push(
        `${kind}, ${name}: ${change} points (95 %: ${low.toFixed(1)} to ${high.toFixed(1)}), ` +
          `${count(1)} won, ${count(-1)} lost of ${pairs.length}`,
      );
    }
    const lost = pairs.filter(({ former, each }) => hits["acc@5"](former) && !hits["acc@5"](each));
    for (const { each } of lost) lines.push(`  lost: ${each.repository} ${each.id}: ${each.gold.join(", ")}`);
  }
  return lines.join("\n");
}

const hits = {
  "acc@5": ({ rank }: CaseOutcome) => rank !== null && rank <= 5,
  "file sent": ({ sentFile }: CaseOutcome) => sentFile,
  "line sent": ({ sentLine }: CaseOutcome) => sentLine,
};

function keyOf({ repository, id }: CaseOutcome): string {
  return `${repository} ${id}`;
}

/** Returns the bootstrap interval in points. The numbers come from a fixed seed, so that the same runs give the same interval. */
function interval(differences: readonly number[]): [number, number] {
  let state = 1;
  const random = (): number => (state = (state * 48_271) % 2_147_483_647) / 2_147_483_647;
  const means = Array.from({ length: resamples }, () => {
    let sum = 0;
    for (let at = 0; at < differences.length; at += 1)
      sum += differences[Math.floor(random() * differences.length)] ?? 0;
    return (100 * sum) / differences.length;
  }).toSorted((a, b) => a - b);
  return [means[Math.floor(resamples * 0.025)] ?? 0, means[Math.floor(resamples * 0.975)] ?? 0];
}

function mean(values: readonly number[]): number {
  return values.length === 0 ? 0 : values.reduce((sum, each) => sum + each, 0) / values.length;
}
