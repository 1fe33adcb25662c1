/** A folder for one test, which is removed after the test. */
import { mkdtemp, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";

export async function temporaryFolder(context: TestContext): Promise<string> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), "aptove-test-")));
  context.after(() => rm(folder, { recursive: true, force: true }));
  return folder;
}
