/**
 * `npm run test:acp`: public ACP clients drive the agent. They are installed from their own lock file beside the tests,
 * because nothing else needs them.
 */
import { spawnSync } from "node:child_process";
import { globSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const folder = fileURLToPath(new URL("../testing/acp-clients", import.meta.url));

const steps: [command: string, args: string[]][] = [
  ["npm", ["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]],
  [process.execPath, [fileURLToPath(new URL("../node_modules/typescript/bin/tsc", import.meta.url)), "-p", "."]],
  [process.execPath, ["--test", ...globSync("*.lane.ts", { cwd: folder }).map((name) => join(folder, name))]],
];

for (const [command, args] of steps) {
  const { status } = spawnSync(command, args, { cwd: folder, stdio: "inherit" });
  if (status !== 0) process.exit(status ?? 1);
}
