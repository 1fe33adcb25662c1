/** `npm run test:package`: makes the archive for people without Node, and runs it without any Node on the path. */
import { runTests } from "./test-run/run-tests.ts";

process.exitCode = await runTests({ suffix: ".lane.ts", concurrency: 1, args: ["scripts", ...process.argv.slice(2)] });
