/** The folder and the version of this package. */
import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** Returns the folder with package.json. It is some levels above this file, which may be part of a bundle. */
export function packageFolder(): string {
  let folder = new URL(".", import.meta.url);
  while (!existsSync(new URL("package.json", folder))) folder = new URL("..", folder);
  return fileURLToPath(folder);
}

export function aptoveVersion(): string {
  const manifest: unknown = JSON.parse(readFileSync(`${packageFolder()}package.json`, "utf8"));
  return String((manifest as { version: unknown }).version);
}
