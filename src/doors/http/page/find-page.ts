/** Finds the files of the page: beside the bundle that runs, or in the newest bundle of a clone that runs its sources. */
import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { systemCode } from "../../../system/system-error.ts";
import { readPageFiles, type PageFiles } from "./page-files.ts";

/** Returns null if the page was not built. */
export function findPage(packageFolder: string): PageFiles | null {
  for (const place of [fileURLToPath(new URL("page/", import.meta.url)), ...newestBundles(packageFolder)]) {
    const files = readPageFiles(place);
    if (files !== null) return files;
  }
  return null;
}

function newestBundles(packageFolder: string): string[] {
  const bundles = join(packageFolder, ".cache", "bundles");
  try {
    return readdirSync(bundles)
      .filter((name) => !name.startsWith("making-"))
      .map((name) => ({ page: join(bundles, name, "page"), at: statSync(join(bundles, name)).mtimeMs }))
      .toSorted((one, other) => other.at - one.at)
      .map(({ page }) => page);
  } catch (error) {
    if (systemCode(error) === "ENOENT") return [];
    throw error;
  }
}
