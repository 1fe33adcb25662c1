/**
 * Files of tests that share a process. Loading the sources takes longer than most tests do, so neighbours load them once;
 * what they share otherwise is what files of one program share anyway.
 */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

/** More would leave the last one running alone. */
const filesPerGroupMax = 16;
/** Hooks outside of a test are the whole process's. */
const wideHooks = /^(?:before|after)(?:Each)?\(/m;

/**
 * Files to run in place of these, relative to the root: each imports those of its group. Written below `folder`, with names
 * in the order in which they are to run, because the runner sorts them. A file with wide hooks is alone and comes first:
 * its hooks start a server or pack the program, and what is long must not be last.
 */
export function groupedTests(files: readonly string[], at: { root: string; folder: string }): string[] {
  const isAlone = (file: string): boolean => wideHooks.test(readFileSync(join(at.root, file), "utf8"));
  const groups = files.filter(isAlone).map((file) => [file]);
  const others = files.filter((file) => !isAlone(file));
  for (let from = 0; from < others.length; from += filesPerGroupMax)
    groups.push(others.slice(from, from + filesPerGroupMax));
  mkdirSync(at.folder, { recursive: true });
  return groups.map((group, index) => writeGroup(group, index, at));
}

function writeGroup(
  group: readonly string[],
  index: number,
  { root, folder }: { root: string; folder: string },
): string {
  const first = (group[0] ?? "").replaceAll(/[\\/]/g, "-").replace(/\.ts$/, "");
  const name = `${String(index).padStart(3, "0")}-${first}.mjs`;
  const imports = group.map((file) => `import ${JSON.stringify(pathToFileURL(join(root, file)).href)};\n`);
  writeFileSync(join(folder, name), imports.join(""));
  return join(folder, name);
}
