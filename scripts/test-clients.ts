/**
 * `npm run test:acp`, `npm run test:openai`: public clients drive aptove, in the tests of a folder below `testing`. They are
 * installed from their own lock file beside the tests, because nothing else needs them.
 */
import { spawnSync } from "node:child_process";
import { globSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const [name = ""] = process.argv.slice(2);
const folder = fileURLToPath(new URL(`../testing/${name}`, import.meta.url));

const steps: [command: string, args: string[]][] = [
  ["npm", ["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]],
  [process.execPath, [fileURLToPath(new URL("../node_modules/typescript/bin/tsc", import.meta.url)), "-p", "."]],
  [process.execPath, ["--test", ...globSync("*.lane.ts", { cwd: folder }).map((file) => join(folder, file))]],
];

for (const [command, args] of steps) {
  const { status } = spawnSync(command, args, { cwd: folder, stdio: "inherit" });
  if (status !== 0) process.exit(status ?? 1);
}
