/**
 * The archive for people without Node: one folder with the package, the packages that it needs at their locked versions, and Node.
 * Its launcher is that of a clone, `bin/aptove`, which looks for Node in the same place.
 */
import { cpSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, join, relative, sep } from "node:path";
import { root, version, type RunCommand } from "./pack-checkout.ts";

interface LockedPackage {
  dev?: true;
  optional?: true;
  devOptional?: true;
  peer?: true;
}

const { platformPackages } = (await import(new URL("../pinned-node.mjs", import.meta.url).href)) as {
  platformPackages: Record<string, string | undefined>;
};

/** Sources and other platforms' code, which would be half of the archive. */
const leftOut = new RegExp(
  String.raw`^node_modules/better-sqlite3/(?:deps|src|prebuilds/(?!${process.platform}(?:musl)?-${process.arch}\.))`,
);

/** Makes the folder and its archive in `out`, from the file that `npm pack` made. Returns the path of the archive. */
export function makeStandalone(packedFile: string, out: string, run: RunCommand): string {
  const node = platformPackages[`${process.platform}-${process.arch}`];
  if (node === undefined) throw new Error(`no package contains Node for ${process.platform} ${process.arch}`);
  const name = `aptove-${version}-${process.platform}-${process.arch}`;
  const folder = join(out, name);
  mkdirSync(folder, { recursive: true });
  run("tar", ["-xzf", packedFile, "--strip-components=1", "-C", folder], out);
  for (const path of lockedPackages()) copyPackage(path, folder);
  for (const part of ["package.json", "LICENSE", "bin"]) {
    cpSync(join(root, "node_modules", node, part), join(folder, "node_modules", node, part), { recursive: true });
  }
  if (process.platform === "win32") {
    const launcher = `@"%~dp0..\\node_modules\\${node}\\bin\\node.exe" "%~dp0run.cjs" %*\r\n`;
    writeFileSync(join(folder, "bin", "aptove.cmd"), launcher);
  }
  run("tar", ["-czf", `${name}.tar.gz`, name], out);
  return join(out, `${name}.tar.gz`);
}

/** Returns the places of the packages that a user of the package gets. */
function lockedPackages(): string[] {
  const { packages } = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8")) as {
    packages: Record<string, LockedPackage>;
  };
  return Object.entries(packages)
    .filter(([path, { dev, optional, devOptional, peer }]) => path !== "" && !(dev ?? optional ?? devOptional ?? peer))
    .map(([path]) => path);
}

function copyPackage(path: string, folder: string): void {
  const isWanted = (file: string): boolean => {
    const inside = relative(root, file).split(sep).join("/");
    // A package within this one has its own place in the lock file.
    return !(basename(file) === "node_modules" && inside !== path) && !leftOut.test(inside);
  };
  cpSync(join(root, path), join(folder, path), { recursive: true, filter: isWanted });
}
