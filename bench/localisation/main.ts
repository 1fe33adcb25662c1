/**
 * `npm run bench -- localisation`: does retrieval find the files that a change needs? Without options it asks about this
 * repository's own history.
 *
 * - `--history <folder>`, repeatable: the commits of a clone. `--cases <n>` of each kind are chosen by their hash.
 * - `--frozen <folder>`: the folder of frozen lists, one per clone, `<folder's name>.json`. A missing list is written.
 * - `--half <0|1>`: only every second case, so that a change is made on one half and judged on the other.
 * - `--swe-bench <json> --clones <folder>`: cases in the public form of SWE-bench; clones are `<clones>/<owner>+<name>`.
 * - `--indexes <folder>`: keeps the index of each tree, so that the next run takes seconds. `--plain`: BM25 over files too.
 * - `--out <json>`: writes the outcomes. `--compare <before.json> <after.json>`: compares two such files, and measures nothing.
 */
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { z } from "zod";
import type { LocalisationCase } from "./case.ts";
import { historyCases, listedCases } from "./history-cases.ts";
import { liteCases } from "./lite-cases.ts";
import { readOptions } from "../../scripts/read-options.ts";
import { measureRepository, type CaseOutcome } from "./measure.ts";
import { formatComparison, formatReport } from "./report.ts";

const options = {
  history: { type: "string", multiple: true },
  cases: { type: "string", default: "40" },
  frozen: { type: "string" },
  half: { type: "string" },
  "swe-bench": { type: "string" },
  clones: { type: "string" },
  indexes: { type: "string" },
  plain: { type: "boolean", default: false },
  out: { type: "string" },
  compare: { type: "boolean", default: false },
} as const;

const usage = `npm run bench -- localisation [options]

  --history <folder>     the commits of this clone; may be repeated; this repository's own
  --cases <n>            so many of each kind, chosen by their hash; ${options.cases.default}
  --frozen <folder>      the folder of frozen lists, one of each clone; a missing one is written
  --half <0|1>           every second case
  --swe-bench <json>     cases in the public form of SWE-bench
  --clones <folder>      the clones of those cases, each <owner>+<name>
  --indexes <folder>     keeps the index of each tree for the next run
  --plain                BM25 over files too
  --out <json>           writes the outcomes
  --compare <a> <b>      compares two such files, and measures nothing
  --help                 this`;

type Options = ReturnType<typeof parse>["values"];

function parse(args: string[]) {
  return readOptions(usage, { args, options, allowPositionals: true });
}

export async function benchLocalisation(args: string[]): Promise<void> {
  const { values, positionals } = parse(args);
  if (values.compare) {
    const [before = "", after = ""] = positionals;
    console.log(formatComparison(readOutcomes(before), readOutcomes(after)));
    return;
  }
  const outcomes: CaseOutcome[] = [];
  for (const [folder, cases] of casesOf(values)) {
    const started = performance.now();
    const chosen = byTime(folder, cases).filter((each) => values.half === undefined || isInHalf(each, values.half));
    const found = await measureRepository({
      folder,
      cases: chosen,
      withPlain: values.plain,
      indexes: values.indexes ?? null,
    });
    outcomes.push(...found);
    const seconds = ((performance.now() - started) / 1000).toFixed(1);
    console.error(`${basename(folder)}: ${found.length} cases in ${seconds} s`);
  }
  console.log(formatReport(outcomes));
  if (values.out !== undefined) writeFileSync(values.out, JSON.stringify(outcomes, null, 1));
}

function casesOf(values: Options): Map<string, LocalisationCase[]> {
  const lite = values["swe-bench"];
  if (lite !== undefined) return liteCases(lite, resolve(values.clones ?? "."));
  const own = fileURLToPath(new URL("../..", import.meta.url)).replace(/\/$/, "");
  const folders = values.history ?? [own];
  return new Map(folders.map((folder) => [resolve(folder), frozenCases(resolve(folder), values)]));
}

/** A list that is frozen once keeps its cases, however the history goes on. */
function frozenCases(folder: string, { frozen, cases }: Options): LocalisationCase[] {
  const list = frozen === undefined ? null : join(frozen, `${basename(folder)}.json`);
  if (list !== null && existsSync(list)) {
    return listedCases(folder, z.array(z.string()).parse(JSON.parse(readFileSync(list, "utf8"))));
  }
  const chosen = historyCases({ folder, count: Number(cases) });
  if (list !== null) {
    mkdirSync(join(list, ".."), { recursive: true });
    writeFileSync(
      list,
      `${JSON.stringify(
        chosen.map(({ id }) => id),
        null,
        2,
      )}\n`,
    );
  }
  return chosen;
}

/** Sorts the cases by the time of their trees, so that each index changes little. */
function byTime(folder: string, cases: readonly LocalisationCase[]): LocalisationCase[] {
  const args = ["log", "--no-walk=unsorted", "--format=%H %ct", ...new Set(cases.map(({ commit }) => commit))];
  const output = cases.length === 0 ? "" : execFileSync("git", args, { cwd: folder, encoding: "utf8" });
  const times = new Map(output.split("\n").map((line) => line.split(" ") as [string, string]));
  const timeOf = ({ commit }: LocalisationCase): number => Number(times.get(commit) ?? 0);
  return cases.toSorted((a, b) => timeOf(a) - timeOf(b) || (a.id < b.id ? -1 : 1));
}

/** The half is chosen by the id, so that it stays the same when cases are added. */
function isInHalf({ id }: LocalisationCase, half: string): boolean {
  let sum = 0;
  for (const character of id) sum += character.codePointAt(0) ?? 0;
  return sum % 2 === Number(half);
}

function readOutcomes(file: string): CaseOutcome[] {
  return JSON.parse(readFileSync(file, "utf8")) as CaseOutcome[];
}
