/**
 * The folder in which a clone keeps the bundle of its sources. Its name depends on the sources, so that a change of any
 * source gives another folder, and a process that runs an older bundle keeps its files. Plain JavaScript for any Node
 * from 20 on, and small, because each call of the command pays for it.
 */
import { existsSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { root } from "./pinned-node.mjs";

export const bundlesFolder = join(root, ".cache", "bundles");

/** Returns the number of sources and the sums of their sizes and times, and the same for the package list. Reads no file. */
export function sourcesMark() {
  const names = readdirSync(join(root, "src"), { recursive: true });
  const files = names.filter((name) => name.endsWith(".ts") && !name.endsWith(".test.ts"));
  let bytes = 0;
  let times = 0;
  for (const file of [...files.map((name) => join("src", name)), "package-lock.json", join("scripts", "bundle.mjs")]) {
    const { size, mtimeMs } = statSync(join(root, file));
    bytes += size;
    times += Math.trunc(mtimeMs);
  }
  return `${files.length}-${bytes}-${times}`;
}

/** Returns the URL of the bundle's program if it was made from the current sources; else null. */
export function freshBundle() {
  if (!existsSync(bundlesFolder)) return null;
  const program = join(bundlesFolder, sourcesMark(), "main.js");
  return existsSync(program) ? pathToFileURL(program).href : null;
}
