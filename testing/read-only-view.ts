/** A data folder that its user cannot write. */
import { spawnSync } from "node:child_process";
import { chmodSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { temporaryFolder } from "./temporary-folder.ts";

/** Makes the folder read-only at the returned path. Null if this user writes everywhere and may not mount. */
export async function readOnlyView(t: TestContext, folder: string): Promise<string | null> {
  if (process.platform === "win32") return null;
  if (process.getuid?.() !== 0) {
    const set = (dir: number, file: number): void => {
      chmodSync(folder, dir);
      chmodSync(join(folder, "records.db"), file);
    };
    set(0o500, 0o400);
    t.after(() => set(0o700, 0o600));
    return folder;
  }
  // The mount ends before its folder is removed: what is registered first runs first.
  const place = { view: "" };
  t.after(() => spawnSync("umount", [place.view], { stdio: "ignore" }));
  const view = join(await temporaryFolder(t), "view");
  mkdirSync(view);
  place.view = view;
  const mount = (...args: string[]): boolean => spawnSync("mount", args, { stdio: "ignore" }).status === 0;
  if (!mount("--bind", folder, view)) return null;
  return mount("-o", "remount,ro,bind", view) ? view : null;
}
