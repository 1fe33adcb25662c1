/**
 * `npm run test:package`: tests the programs around the sources: the launcher, the test run, the checks, the bundle. It
 * installs the package globally with npm, carries out the steps of deploy/Dockerfile, and makes the archive for people
 * without Node. Each of them answers a question; the archive without any Node on the path. One file at a time, because packing
 * changes the manifest of the checkout for a moment.
 */
import { runTests } from "./test-run/run-tests.ts";

process.exitCode = await runTests({ suffix: ".lane.ts", concurrency: 1, args: ["scripts", ...process.argv.slice(2)] });
