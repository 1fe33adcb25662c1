/**
 * `npm run cluster [-- --seconds 60 --servers 3 --people 24 --faults kill,pause,partition --seed 7]`: PostgreSQL, S3 and
 * Redis with several servers behind a proxy on this machine, a load, and faults of machines and networks. A
 * checker then proves that no promise was broken; it ends with 1 where one was.
 */
import { faultKinds, type FaultKind } from "../testing/cluster/nemesis.ts";
import { runCluster } from "../testing/cluster/run.ts";
import { missingPackages } from "../testing/servers/programs.ts";
import { readOptions, wholeNumber, wrongUse } from "./read-options.ts";

const usage = `npm run cluster -- [options]

  --seconds <n>     how long people work; 60; longer until each fault occurred once
  --servers <n>     how many servers; 3
  --people <n>      how many people work at once; 24
  --faults <names>  of ${faultKinds.join(", ")}, with commas, or none
  --seed <n>        the same load and faults as that run
  --no-s3           blobs in a folder
  --no-redis        wake-ups and live events by PostgreSQL
  --json            the report as one value
  --help            this`;

const options = {
  seconds: { type: "string", default: "60" },
  servers: { type: "string", default: "3" },
  people: { type: "string", default: "24" },
  faults: { type: "string", default: "kill,pause,partition,stall,drain" },
  seed: { type: "string" },
  "no-s3": { type: "boolean", default: false },
  "no-redis": { type: "boolean", default: false },
  json: { type: "boolean", default: false },
} as const;
const { values } = readOptions(usage, { options });

function faults(): FaultKind[] {
  const names = values.faults.split(",").filter((name) => name !== "" && name !== "none");
  const isKind = (name: string): name is FaultKind => (faultKinds as readonly string[]).includes(name);
  const unknown = names.find((name) => !isKind(name));
  if (unknown !== undefined) return wrongUse(`there is no fault "${unknown}"; there are ${faultKinds.join(", ")}`);
  return names.filter(isKind);
}

const missing = values["no-s3"] && values["no-redis"] ? [] : missingPackages();
if (missing.length > 0) {
  wrongUse(`these are not installed: apt-get install ${missing.join(" ")}; or run with --no-s3 --no-redis`);
}
const report = await runCluster({
  seed: values.seed === undefined ? Date.now() % 2 ** 31 : wholeNumber("seed", values.seed),
  seconds: wholeNumber("seconds", values.seconds),
  servers: wholeNumber("servers", values.servers),
  people: wholeNumber("people", values.people),
  faults: faults(),
  s3: !values["no-s3"],
  redis: !values["no-redis"],
  say: (line) => console.error(line),
});
const { violations, checked, turnsPerSecond, seed } = report;
if (values.json) {
  console.log(JSON.stringify(report));
} else {
  for (const [what, count] of Object.entries(checked)) console.log(`${what.padEnd(10)} ${count}`);
  console.log(`${turnsPerSecond.toFixed(1)} turns answered a second; ${report.faults.length} faults; seed ${seed}`);
  for (const { rule, what } of violations) console.log(`[${rule}] ${what}`);
  console.log(violations.length === 0 ? "Every promise was kept." : `${violations.length} promises were broken.`);
}
process.exitCode = violations.length === 0 ? 0 : 1;
