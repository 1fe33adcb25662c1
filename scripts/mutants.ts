/**
 * `npm run mutants [-- --only name --sample 6 --seed 7 --list]`: puts known faults into a copy of the sources, one at a time, and
 * checks that the tests notice each. Ends with 1 if a fault survives, if its edit no longer applies, or if its tests fail without it.
 */
import { chosenMutants } from "./mutants/choose.ts";
import { allMutants } from "./mutants/list.ts";
import { runMutants } from "./mutants/run-mutants.ts";
import { readOptions, wholeNumber } from "./read-options.ts";

const usage = `npm run mutants -- [options]

  --only <name>   this fault; may be repeated
  --sample <n>    so many faults, chosen by the seed
  --seed <n>      the seed of the sample; another one each day
  --list          names the faults and their tests, and runs nothing
  --help          this`;

const { values } = readOptions(usage, {
  options: {
    only: { type: "string", multiple: true },
    sample: { type: "string" },
    seed: { type: "string" },
    list: { type: "boolean" },
  },
});

/** A sample of another day has other faults. */
const today = Math.floor(Date.now() / 86_400_000);
const seed = values.seed === undefined ? today : wholeNumber("seed", values.seed);
const sample = values.sample === undefined ? null : wholeNumber("sample", values.sample);
const chosen = chosenMutants(allMutants, { only: values.only ?? [], sample, seed });
if ("unknown" in chosen) {
  console.error(`there is no fault named ${chosen.unknown.join(", ")}; npm run mutants -- --list names all`);
  process.exit(2);
}
if (values.list === true) {
  for (const { name, does, tests } of chosen.mutants) console.log(`${name}\n  ${does}\n  ${tests.join(" ")}`);
  process.exit(0);
}
if (sample !== null) console.log(`a sample of ${chosen.mutants.length} of ${allMutants.length}: --seed ${seed}`);
const stop = new AbortController();
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => stop.abort());
const isClean = await runMutants(chosen.mutants, {
  root: process.cwd(),
  tell: (line) => console.log(line),
  stop: stop.signal,
});
process.exitCode = isClean ? 0 : 1;
