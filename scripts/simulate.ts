/**
 * `npm run simulate [-- --seed 7 --steps 100000 --stores embedded]`: random commands against real engines for any number of
 * steps. By default the seed comes from the clock. Ends with 1 at the first violation.
 */
import { parseArgs } from "node:util";
import { simulate } from "../testing/simulation/simulate.ts";
import { storeKinds } from "../testing/simulation/stores.ts";

const { values } = parseArgs({
  options: {
    seed: { type: "string" },
    steps: { type: "string", default: "10000" },
    stores: { type: "string", default: "memory" },
  },
});

function wholeNumber(name: string, text: string): number {
  if (/^\d{1,12}$/.test(text)) return Number(text);
  console.error(`--${name} takes a whole number, not ${JSON.stringify(text)}`);
  return process.exit(2);
}

const seed = values.seed === undefined ? Date.now() % 2 ** 31 : wholeNumber("seed", values.seed);
const steps = wholeNumber("steps", values.steps);
const stores = storeKinds.find((kind) => kind === values.stores);
if (stores === undefined) {
  console.error(`--stores takes one of ${storeKinds.join(", ")}, not ${JSON.stringify(values.stores)}`);
  process.exit(2);
}
const startedAt = performance.now();
console.log(`seed ${seed}, ${steps} steps, stores: ${stores}`);
try {
  const report = await simulate({ seed, steps, stores });
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
  const { turns, worlds, storeCalls } = report;
  console.log(`all is well: ${turns} turns in ${worlds} worlds, ${storeCalls} calls to stores, ${seconds} s`);
} catch (error) {
  console.error(error);
  process.exitCode = 1;
}
