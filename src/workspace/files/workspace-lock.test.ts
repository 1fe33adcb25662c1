import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { hasCode, rejectionOf } from "../../../testing/refusals.ts";
import { temporaryFolder } from "../../../testing/temporary-folder.ts";
import { AptoveError } from "../../domain/errors.ts";
import { withWorkspaceLock } from "./workspace-lock.ts";

const never = (): never => assert.fail("the body ran without the lock");

test("[B4] a lock that is held for too long is workspace_busy", async (t) => {
  const path = join(await temporaryFolder(t), "a.lock");
  const { promise: mayGo, resolve: go } = Promise.withResolvers<void>();
  const first = withWorkspaceLock(path, () => mayGo);
  const { code, detail } = await rejectionOf(withWorkspaceLock(path, never, 5));
  assert.equal(code, "workspace_busy");
  assert.ok(detail.includes(path) && detail.includes("0.005 s"), detail);
  go();
  await first;
});

test("[B4] a path where there can be no lock is an error of the store that names it", async (t) => {
  const folder = await temporaryFolder(t);
  const [missing, broken] = [join(folder, "no", "where", "a.lock"), join(folder, "broken.lock")];
  await assert.rejects(withWorkspaceLock(missing, never), hasCode("storage_failed", missing));
  writeFileSync(broken, "x".repeat(2_000));
  await assert.rejects(withWorkspaceLock(broken, never), hasCode("storage_failed", broken));
});

test("[B4] what the body throws is its own", async (t) => {
  const path = join(await temporaryFolder(t), "a.lock");
  const own = new AptoveError("not_found", "its own");
  await assert.rejects(
    withWorkspaceLock(path, () => Promise.reject(own)),
    (error) => error === own,
  );
});
