/** A folder for one test, which is removed after the test. */
import { mkdtemp, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";

export async function temporaryFolder(context: TestContext): Promise<string> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), "aptove-test-")));
  // A process that a test has just ended may write its last file while the folder is emptied.
  context.after(() => rm(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 }));
  return folder;
}
