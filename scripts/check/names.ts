/**
 * Exported names. A name that two files export means two things, and a reader who searches for it finds the wrong
 * one. Drivers of one contract may share names: there the name says which part of the contract a file is.
 */
import type { Finding } from "./finding.ts";
import { lineAt, type SourceFile, type Tree } from "./tree.ts";

interface ExportedName {
  name: string;
  file: string;
  line: number;
}

export function checkNames(tree: Tree): Finding[] {
  const exported = tree.sources.filter(({ path, isTest }) => path.startsWith("src/") && !isTest).flatMap(exportsOf);
  const byName = Map.groupBy(exported, ({ name }) => name);
  return [...byName].flatMap(([name, all]) => {
    if (all.length < 2 || areDriversOfOneContract(all)) return [];
    return all.map(({ file, line }) => ({
      file,
      line,
      rule: "names/twice",
      message: `exports ${name}, and so does ${all.find((other) => other.file !== file)?.file ?? file}`,
      fix: "say in the name what it is here",
    }));
  });
}

/** Declarations only: what a file passes on under the same name stands once. */
function exportsOf(file: SourceFile): ExportedName[] {
  return file.module.staticExports.flatMap(({ entries }) =>
    entries.flatMap(({ exportName, moduleRequest, importName }) => {
      const isDeclaredHere = moduleRequest === null && importName.kind === "None";
      if (!isDeclaredHere || exportName.name === null) return [];
      return [{ name: exportName.name, file: file.path, line: lineAt(file.text, exportName.start ?? 0) }];
    }),
  );
}

/** Rooms of the engine and doors are no drivers: they do different things. */
const areasWithoutDrivers = ["engine", "doors"];

function areDriversOfOneContract(all: readonly ExportedName[]): boolean {
  const folders = all.map(({ file }) => file.split("/").slice(1, -1));
  const areas = new Set(folders.map(([area = ""]) => area));
  const drivers = new Set(folders.map(([, driver]) => driver));
  const [area = ""] = areas;
  return (
    areas.size === 1 && !areasWithoutDrivers.includes(area) && !drivers.has(undefined) && drivers.size === all.length
  );
}
