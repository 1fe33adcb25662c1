/**
 * package-lock.json is whole. A tool whose newest version lacks the package of one platform leaves a lock
 * that `npm install` makes without a word and that `npm ci` refuses in a fresh clone.
 */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Finding } from "./finding.ts";
import { lineAt, type Tree } from "./tree.ts";

interface LockedPackage {
  dependencies?: Record<string, string>;
  devDependencies?: Record<string, string>;
  optionalDependencies?: Record<string, string>;
}

const lockPath = "package-lock.json";

export function checkLock(tree: Tree): Finding[] {
  const file = join(tree.root, lockPath);
  if (!existsSync(file)) {
    return [{ file: lockPath, line: 1, rule: "lock/missing", message: "there is no lock", fix: "npm install" }];
  }
  const text = readFileSync(file, "utf8");
  const { packages } = JSON.parse(text) as { packages: Record<string, LockedPackage> };
  const locked = new Set(Object.keys(packages).map((path) => path.slice(path.lastIndexOf("node_modules/"))));
  return Object.entries(packages).flatMap(([path, { dependencies, devDependencies, optionalDependencies }]) =>
    Object.entries({ ...dependencies, ...devDependencies, ...optionalDependencies })
      .filter(([name]) => !locked.has(`node_modules/${name}`))
      .map(([name, version]) => ({
        file: lockPath,
        line: lineAt(text, text.indexOf(`"${path}": {`)),
        rule: "lock/incomplete",
        message: `${path || "the project"} needs ${name} ${version}, which is not locked`,
        fix: "pin a version that has all its packages",
      })),
  );
}
