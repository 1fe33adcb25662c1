/**
 * Loaded into every test file's process: a file whose tests are all done and that still runs has left something
 * open. Without this it would hang for ever; so it reports what is open, and fails.
 */
import { after, beforeEach } from "node:test";

/** The time that closing may take after the last test. */
const graceMs = 5_000;

// The runner itself loads this too, and has no tests.
if (process.env["NODE_TEST_CONTEXT"] !== undefined) {
  let timer: NodeJS.Timeout | undefined;
  after(() => {
    timer = setTimeout(() => {
      const open = process.getActiveResourcesInfo().join(", ");
      console.error(`${process.argv[1]} does not end after its tests; still open: ${open}`);
      process.exit(1);
    }, graceMs).unref();
  });
  // A file may still be registering tests when its first ones are done.
  beforeEach(() => clearTimeout(timer));
}
