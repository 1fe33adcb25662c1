/** The bundle of a clone: it is used only if it was made from exactly the current sources. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { temporaryFolder } from "../testing/temporary-folder.ts";

const root = fileURLToPath(new URL("..", import.meta.url));

test("a clone runs its bundle, and its sources from their first change to the next bundling", async (t) => {
  const clone = await temporaryFolder(t);
  for (const path of ["bin", "scripts", "src", "package.json", "package-lock.json"]) {
    cpSync(join(root, path), join(clone, path), { recursive: true });
  }
  symlinkSync(join(root, "node_modules"), join(clone, "node_modules"));
  const run = (...args: string[]) => {
    const done = spawnSync(process.execPath, args, { cwd: clone, encoding: "utf8" });
    assert.deepEqual([done.status, done.stderr], [0, ""]);
    return done.stdout;
  };
  const bundles = join(clone, ".cache", "bundles");
  const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { version: string };

  assert.equal(run("bin/run.mjs", "--version"), `${version}\n`);
  assert.ok(!existsSync(bundles));

  run("scripts/prepare-clone.mjs");
  const [bundle = assert.fail("no bundle")] = readdirSync(bundles);
  // The output shows which of the two runs.
  writeFileSync(join(bundles, bundle, "main.js"), 'console.log("the bundle");');
  assert.equal(run("bin/run.mjs"), "the bundle\n");

  appendFileSync(join(clone, "src", "version.ts"), "// Changed.\n");
  assert.equal(run("bin/run.mjs", "--version"), `${version}\n`);
  run("scripts/prepare-clone.mjs");
  assert.equal(readdirSync(bundles).length, 2);
  assert.equal(run("bin/run.mjs", "--version"), `${version}\n`);
});

test("sources that cannot be bundled still run, with a warning", async (t) => {
  const clone = await temporaryFolder(t);
  cpSync(join(root, "scripts"), join(clone, "scripts"), { recursive: true });
  mkdirSync(join(clone, "src"));
  for (const name of ["src/main.ts", "package-lock.json", "package.json"]) writeFileSync(join(clone, name), "{");
  symlinkSync(join(root, "node_modules"), join(clone, "node_modules"));
  const done = spawnSync(process.execPath, ["scripts/prepare-clone.mjs"], { cwd: clone, encoding: "utf8" });
  assert.equal(done.status, 0);
  assert.match(done.stderr, /^aptove: the sources could not be bundled, so it starts more slowly \(.+\)\n$/);
});
