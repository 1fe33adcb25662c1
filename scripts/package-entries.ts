/**
 * `node scripts/package-entries.ts dist|src`: what the entries in package.json point to. In a checkout they are the
 * sources, and there is no `dist/`; in the package that `npm pack` makes they are the compiled files. A checkout brings
 * its own Node, and any from 20 on starts it; the package brings no Node (it has 211 MB) and names the one that it needs.
 * The rest of the manifest stays as it is. Safe to run again, so `npm run postpack` repairs a checkout whose packing was killed.
 */
import { readFileSync, rmSync, writeFileSync } from "node:fs";

const manifest = new URL("../package.json", import.meta.url);
const text = readFileSync(manifest, "utf8");

const { leastVersion } = (await import(new URL("pinned-node.mjs", import.meta.url).href)) as { leastVersion: string };

/** What differs, in a clone and in the package. */
const differences = [
  ['"node": ">=20"', `"node": ">=${leastVersion}"`],
  // The packages that contain Node.
  ['"optionalDependencies":', '"optionalDependencies-clone":'],
  // This script is only for clones: npm would warn of an install script in a package.
  ['"prepare":', '"prepare-clone":'],
] as const;

const [, , to] = process.argv;
if (to === "dist") {
  const packed = text.replaceAll(/"\.\/src\/(.+)\.ts"/g, '"./dist/$1.js"');
  writeFileSync(
    manifest,
    differences.reduce((result, [ofClone, ofPackage]) => result.replace(ofClone, ofPackage), packed),
  );
} else if (to === "src") {
  const unpacked = text.replaceAll(/"\.\/dist\/(.+)\.js"/g, '"./src/$1.ts"');
  writeFileSync(
    manifest,
    differences.reduce((result, [ofClone, ofPackage]) => result.replace(ofPackage, ofClone), unpacked),
  );
  rmSync(new URL("../dist", import.meta.url), { recursive: true, force: true });
} else {
  console.error("error: say whether the entries are to be dist or src");
  process.exitCode = 2;
}
