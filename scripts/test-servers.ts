/**
 * `npm run test:services [-- files, folders or options of node --test]`: the tests `*.servers.ts`. They are on Redis and
 * Ceph's S3 server, which are not among the packages, and the longest others: on PostgreSQL, on a fake of Qdrant, and kills
 * of a long command. Each test file starts its own servers. Missing programs are installed from Debian's packages if the user
 * is root.
 */
import { spawnSync } from "node:child_process";
import { availableParallelism } from "node:os";
import { missingPackages } from "../testing/servers/programs.ts";
import { runTests } from "./test-run/run-tests.ts";

const installTimeoutMs = 300_000;

function installMissing(): boolean {
  const missing = missingPackages();
  if (missing.length === 0) return true;
  if (process.getuid?.() !== 0) return false;
  console.error(`installing ${missing.join(" ")}`);
  const steps = [
    ["-qq", "update"],
    ["-qq", "install", "-y", "--no-install-recommends", ...missing],
  ];
  const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive" };
  return steps.every((args) => {
    // Only the last lines of the tests are for the standard output.
    const options = { env, stdio: ["ignore", 2, 2], timeout: installTimeoutMs } satisfies Parameters<
      typeof spawnSync
    >[2];
    return spawnSync("apt-get", args, options).status === 0;
  });
}

if (installMissing()) {
  process.exitCode = await runTests({
    suffix: ".servers.ts",
    concurrency: availableParallelism(),
    args: process.argv.slice(2),
  });
} else {
  console.error(`These tests need what is not installed: apt-get install ${missingPackages().join(" ")}`);
  process.exitCode = 1;
}
