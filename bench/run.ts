/**
 * `npm run bench [-- name …] [--quick] [--json] [--strict]`: measures what a turn, a stream, an index and a cold start
 * cost. The figures are information, so a missed limit fails only with `--strict`; a bench that crashes always does.
 * `--quick` measures one round instead of several. `localisation` has options of its own (localisation/main.ts). Nothing but the machine's own load should run beside it.
 */
import { availableParallelism, cpus, loadavg, totalmem } from "node:os";
import { readOptions, wrongUse } from "../scripts/read-options.ts";
import type { BenchRow, Rounds } from "./rows.ts";
import { type BenchResult, formatTable, isMissed } from "./table.ts";

const rounds = 7;

/** The benches. Each is loaded when it runs, so that one does not warm up another. */
const benches: Record<string, (rounds: Rounds) => Promise<BenchRow[]>> = {
  floor: async (each) => (await import("./floor.ts")).benchFloor(each),
  depth: async (each) => (await import("./depth.ts")).benchDepth(each),
  disk: async () => (await import("./disk.ts")).benchDisk(),
  start: async (each) => (await import("./start.ts")).benchStart(each),
  many: async (each) => (await import("./many.ts")).benchMany(each),
  rate: async (each) => (await import("./rate.ts")).benchRate(each),
  turn: async () => (await import("./turn.ts")).benchTurn(),
  footprint: async () => (await import("./footprint.ts")).benchFootprint(),
  stores: async () => (await import("./stores.ts")).benchStores(),
  tree: async () => (await import("./tree.ts")).benchTree(),
  explain: async () => (await import("./explain.ts")).benchExplain(),
  index: async () => (await import("./retrieval.ts")).benchIndex(),
  search: async () => (await import("./retrieval.ts")).benchSearch(),
  sizing: async () => (await import("./sizing.ts")).benchSizing(),
  openai: async (each) => (await import("./openai.ts")).benchOpenAi(each),
  live: async () => (await import("./live.ts")).benchLive(),
  page: async () => (await import("./page.ts")).benchPage(),
  cluster: async () => (await import("./cluster.ts")).benchCluster(),
};

const benchNames = Object.keys(benches).join(", ");
const usage = `npm run bench -- [name …] [options]

The benches are ${benchNames}. Without a name, all of them run.
"localisation" comes alone, and has options of its own: npm run bench -- localisation --help

  --quick    one round in place of ${rounds}
  --json     the figures as one value
  --strict   a missed limit is a failure
  --help     this`;

interface Crash {
  bench: string;
  error: unknown;
}

async function main(args: string[]): Promise<void> {
  // It asks about repositories that the person names, and has options of its own.
  if (args[0] === "localisation") return (await import("./localisation/main.ts")).benchLocalisation(args.slice(1));
  const flag = { type: "boolean" } as const;
  const options = { json: flag, strict: flag, quick: flag };
  const { values, positionals } = readOptions(usage, { args, options, allowPositionals: true });
  const unknown = positionals.filter((name) => !(name in benches));
  if (unknown.length > 0) wrongUse(`There is no bench ${unknown.join(", ")}; there are ${benchNames}.`);
  const names = positionals.length > 0 ? positionals : Object.keys(benches);
  const measuredOn = machine();
  const { results, crashes } = await runBenches(names, { rounds: values.quick ? 1 : rounds });
  if (values.json) console.log(JSON.stringify({ machine: measuredOn, results }, null, 2));
  else console.log(`${measuredOn}\n\n${formatTable(results)}`);
  for (const { bench, error } of crashes) console.error(`${bench} crashed:`, error);
  const missed = results.flatMap(({ rows }) => rows.filter(isMissed)).length;
  if (missed > 0) console.error(`\n${missed} missed.`);
  process.exitCode = crashes.length > 0 || (values.strict && missed > 0) ? 1 : 0;
}

async function runBenches(names: string[], each: Rounds): Promise<{ results: BenchResult[]; crashes: Crash[] }> {
  const results: BenchResult[] = [];
  const crashes: Crash[] = [];
  for (const bench of names) {
    const start = performance.now();
    try {
      const rows = (await benches[bench]?.(each)) ?? [];
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
  const load = (loadavg()[0] ?? 0).toFixed(1);
  const place = `${process.platform} ${process.arch}`;
  return `${model}, ${availableParallelism()} cores, ${gigabytes} GB, ${place}, Node ${process.versions.node}, load ${load}`;
}

await main(process.argv.slice(2));
