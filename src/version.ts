/** Where the package is, and its version. */
import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** The folder with package.json: some way above, for this file may be a part of a bundle. */
export function packageFolder(): string {
  let folder = new URL(".", import.meta.url);
  while (!existsSync(new URL("package.json", folder))) folder = new URL("..", folder);
  return fileURLToPath(folder);
}

export function aptoveVersion(): string {
  const manifest: unknown = JSON.parse(readFileSync(`${packageFolder()}package.json`, "utf8"));
  return String((manifest as { version: unknown }).version);
}
