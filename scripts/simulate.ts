/**
 * `npm run simulate [-- --seed 7 --steps 100000 --stores embedded]`: random commands against real engines for any number of
 * steps. By default the seed comes from the clock. Ends with 1 at the first violation.
 */
import { simulate } from "../testing/simulation/simulate.ts";
import { storeKinds } from "../testing/simulation/stores.ts";
import { readOptions, wholeNumber, wrongUse } from "./read-options.ts";

const usage = `npm run simulate -- [options]

  --seed <n>        the same commands as that run; by the clock
  --steps <n>       how many commands; 10000
  --stores <kind>   ${storeKinds.join(", ")}; memory
  --help            this`;

const { values } = readOptions(usage, {
  options: {
    seed: { type: "string" },
    steps: { type: "string", default: "10000" },
    stores: { type: "string", default: "memory" },
  },
});

const seed = values.seed === undefined ? Date.now() % 2 ** 31 : wholeNumber("seed", values.seed);
const steps = wholeNumber("steps", values.steps);
const stores = storeKinds.find((kind) => kind === values.stores);
if (stores === undefined)
  wrongUse(`--stores takes one of ${storeKinds.join(", ")}, not ${JSON.stringify(values.stores)}`);
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
