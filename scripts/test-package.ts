/**
 * `npm run test:package`: installs the package globally with npm, carries out the steps of deploy/Dockerfile, and makes the
 * archive for people without Node. Each of them answers a question; the archive without any Node on the path.
 */
import { runTests } from "./test-run/run-tests.ts";

process.exitCode = await runTests({ suffix: ".lane.ts", concurrency: 1, args: ["scripts", ...process.argv.slice(2)] });
