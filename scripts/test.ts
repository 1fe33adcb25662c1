/**
 * `npm test [-- files, folders or options of node --test]`: every test, by Node's own runner, a few files
 * in each process. They need no service, and nothing that is not among the packages.
 */
import { availableParallelism } from "node:os";
import { runTests } from "./test-run/run-tests.ts";

process.exitCode = await runTests({
  suffix: ".test.ts",
  // More than can compute at once: many of them wait for a process, a server or a disk.
  concurrency: availableParallelism() + 2,
  inMemory: true,
  args: process.argv.slice(2),
});
