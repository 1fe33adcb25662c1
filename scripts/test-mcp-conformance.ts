/**
 * `npm run test:mcp`: the official conformance runner of MCP against our client and our server. It is installed from its own lock file
 * beside the tests, because nothing else needs it.
 */
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";

const folder = fileURLToPath(new URL("../testing/mcp-conformance", import.meta.url));

const steps: [command: string, args: string[]][] = [
  ["npm", ["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]],
  [process.execPath, ["--test", `${folder}/client.lane.ts`, `${folder}/server.lane.ts`]],
];

for (const [command, args] of steps) {
  const { status } = spawnSync(command, args, { cwd: folder, stdio: "inherit" });
  if (status !== 0) process.exit(status ?? 1);
}
