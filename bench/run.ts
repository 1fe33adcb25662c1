/**
 * `npm run bench [-- name …] [--json] [--strict]`: measures what a turn, a stream, an index and a cold start cost.
 * The figures are information, so a figure over its limit fails only with `--strict`; a bench that crashes always
 * does. Nothing but the machine's own load should run beside it.
 */
import { availableParallelism, cpus, totalmem } from "node:os";
import { parseArgs } from "node:util";
import type { BenchRow } from "./rows.ts";
import { type BenchResult, formatTable, isOver } from "./table.ts";

/** The benches. Each is loaded when it runs, so that one does not warm up another. */
const benches: Record<string, () => Promise<BenchRow[]>> = {
  turn: async () => (await import("./turn.ts")).benchTurn(),
  footprint: async () => (await import("./footprint.ts")).benchFootprint(),
  stores: async () => (await import("./stores.ts")).benchStores(),
  tree: async () => (await import("./tree.ts")).benchTree(),
  explain: async () => (await import("./explain.ts")).benchExplain(),
  cli: async () => (await import("./cli.ts")).benchCli(),
  acp: async () => (await import("./acp.ts")).benchAcp(),
  index: async () => (await import("./retrieval.ts")).benchIndex(),
  search: async () => (await import("./retrieval.ts")).benchSearch(),
  sizing: async () => (await import("./sizing.ts")).benchSizing(),
  live: async () => (await import("./live.ts")).benchLive(),
  cluster: async () => (await import("./cluster.ts")).benchCluster(),
  streaming: async () => (await import("./streaming.ts")).benchStreaming(),
};

interface Crash {
  bench: string;
  error: unknown;
}

async function main(args: string[]): Promise<void> {
  const options = { json: { type: "boolean" }, strict: { type: "boolean" } } as const;
  const { values, positionals } = parseArgs({ args, options, allowPositionals: true });
  const unknown = positionals.filter((name) => !(name in benches));
  if (unknown.length > 0) {
    console.error(`There is no bench ${unknown.join(", ")}; there are ${Object.keys(benches).join(", ")}.`);
    process.exitCode = 2;
    return;
  }
  const { results, crashes } = await runBenches(positionals.length > 0 ? positionals : Object.keys(benches));
  if (values.json) console.log(JSON.stringify({ machine: machine(), results }, null, 2));
  else console.log(`${machine()}\n\n${formatTable(results)}`);
  for (const { bench, error } of crashes) console.error(`${bench} crashed:`, error);
  const over = results.flatMap(({ rows }) => rows.filter(isOver)).length;
  if (over > 0) console.error(`\n${over} over the limit.`);
  process.exitCode = crashes.length > 0 || (values.strict && over > 0) ? 1 : 0;
}

async function runBenches(names: string[]): Promise<{ results: BenchResult[]; crashes: Crash[] }> {
  const results: BenchResult[] = [];
  const crashes: Crash[] = [];
  for (const bench of names) {
    const start = performance.now();
    try {
      const rows = (await benches[bench]?.()) ?? [];
      results.push({ bench, rows });
      console.error(`${bench}: measured in ${((performance.now() - start) / 1000).toFixed(1)} s`);
    } catch (error) {
      crashes.push({ bench, error });
    }
  }
  return { results, crashes };
}

function machine(): string {
  const model = cpus()[0]?.model.trim() ?? "unknown processor";
  const gigabytes = (totalmem() / 2 ** 30).toFixed(0);
  const place = `${process.platform} ${process.arch}`;
  return `${model}, ${availableParallelism()} cores, ${gigabytes} GB, ${place}, Node ${process.versions.node}`;
}

await main(process.argv.slice(2));
