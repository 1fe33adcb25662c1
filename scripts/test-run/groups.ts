/**
 * Files of tests that share a process. Loading the sources takes longer than most tests do, so neighbours of one folder
 * load them once; what they share otherwise is what files of one program share anyway.
 */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";

/** More would leave the last one running alone. */
const filesPerGroupMax = 6;
/** Hooks outside of a test are the whole process's. */
const wideHooks = /^(?:before|after)(?:Each)?\(/m;

/** Files to run in place of these, relative to the root: a file that imports those of its group. Written below `folder`. */
export function groupedTests(files: readonly string[], at: { root: string; folder: string }): string[] {
  const groups: string[][] = [];
  for (const file of files) {
    const group = groups.at(-1);
    const isNeighbour = group?.[0] !== undefined && dirname(group[0]) === dirname(file);
    if (isNeighbour && group.length < filesPerGroupMax && mayShare(at.root, file) && mayShare(at.root, group[0] ?? ""))
      group.push(file);
    else groups.push([file]);
  }
  return groups.map((group, index) => (group.length === 1 ? (group[0] ?? "") : writeGroup(group, index, at)));
}

function mayShare(root: string, file: string): boolean {
  return !wideHooks.test(readFileSync(join(root, file), "utf8"));
}

function writeGroup(
  group: readonly string[],
  index: number,
  { root, folder }: { root: string; folder: string },
): string {
  const name = `${String(index).padStart(3, "0")}-${dirname(group[0] ?? "").replaceAll(/[\\/]/g, "-")}.test.mjs`;
  const imports = group.map((file) => `import ${JSON.stringify(pathToFileURL(join(root, file)).href)};\n`);
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, name), imports.join(""));
  return join(folder, name);
}
