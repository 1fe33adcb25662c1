/**
 * `node scripts/package-entries.ts dist|src`: what the entries in package.json point to. In a checkout they are the
 * sources, and there is no `dist/`; in the package that `npm pack` makes they are the compiled files. A checkout brings
 * its own Node, and any from 20 on starts it; the package is a library for users with a new Node. The rest of the
 * manifest stays as it is. Safe to run again, so `npm run postpack` repairs a checkout whose packing was killed.
 */
import { readFileSync, rmSync, writeFileSync } from "node:fs";

const manifest = new URL("../package.json", import.meta.url);
const text = readFileSync(manifest, "utf8");

const ofClone = '"node": ">=20"';
const ofPackage = '"node": ">=26"';

const [, , to] = process.argv;
if (to === "dist") {
  const packed = text.replaceAll(/"\.\/src\/(.+)\.ts"/g, '"./dist/$1.js"');
  // This script is only for clones: npm would warn of an install script in a package.
  writeFileSync(manifest, packed.replace('"prepare":', '"prepare-clone":').replace(ofClone, ofPackage));
} else if (to === "src") {
  const unpacked = text.replaceAll(/"\.\/dist\/(.+)\.js"/g, '"./src/$1.ts"');
  writeFileSync(manifest, unpacked.replace('"prepare-clone":', '"prepare":').replace(ofPackage, ofClone));
  rmSync(new URL("../dist", import.meta.url), { recursive: true, force: true });
} else {
  console.error("error: say whether the entries are to be dist or src");
  process.exitCode = 2;
}
