/** The bundle of a clone: it is used only if it was made from exactly the current sources. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import {
  appendFileSync,
  cpSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { test, type TestContext } from "node:test";
import { fileURLToPath } from "node:url";
import { temporaryFolder } from "../testing/temporary-folder.ts";

const root = fileURLToPath(new URL("..", import.meta.url));

const report = /^aptove: no bundle was made from the current sources, .+\nfix: npm run prepare\n$/;

interface Ran {
  stdout: string;
  stderr: string;
}

/** Runs a script of a clone with this Node. */
function run(clone: string, ...args: string[]): Ran {
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { cwd: clone, encoding: "utf8" });
  assert.equal(status, 0, stderr);
  return { stdout, stderr };
}

async function bundledClone(t: TestContext): Promise<{ clone: string; bundles: string; program: string }> {
  const clone = await temporaryFolder(t);
  for (const path of ["bin", "scripts", "src", "web", "package.json", "package-lock.json"]) {
    cpSync(join(root, path), join(clone, path), { recursive: true });
  }
  symlinkSync(join(root, "node_modules"), join(clone, "node_modules"));
  run(clone, "scripts/prepare-clone.mjs");
  const bundles = join(clone, ".cache", "bundles");
  return { clone, bundles, program: currentProgram(bundles) };
}

function currentProgram(bundles: string): string {
  const { bundle } = JSON.parse(readFileSync(join(bundles, "current.json"), "utf8")) as { bundle: string };
  return join(bundles, bundle, "program.cjs");
}

/** Makes the output show which of the two runs. */
function mark(program: string): void {
  writeFileSync(program, '(function () { console.log("the bundle"); })');
}

test("[L1] a clone runs its bundle, and its sources from their first change to the next bundling, and reports it once", async (t) => {
  const { clone, bundles, program } = await bundledClone(t);
  const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { version: string };
  assert.deepEqual(run(clone, "bin/run.cjs", "--version"), { stdout: `${version}\n`, stderr: "" });
  mark(program);
  assert.deepEqual(run(clone, "bin/run.cjs"), { stdout: "the bundle\n", stderr: "" });

  // The size stays, as with the change of a digit.
  const source = join(clone, "src", "version.ts");
  const text = readFileSync(source, "utf8");
  writeFileSync(source, text.replace("The folder", "the folder"));
  const first = run(clone, "bin/run.cjs", "--version");
  assert.equal(first.stdout, `${version}\n`);
  assert.match(first.stderr, report);
  assert.deepEqual(run(clone, "bin/run.cjs", "--version"), { stdout: `${version}\n`, stderr: "" });

  run(clone, "scripts/prepare-clone.mjs");
  assert.notEqual(currentProgram(bundles), program);
  assert.deepEqual(run(clone, "bin/run.cjs", "--version"), { stdout: `${version}\n`, stderr: "" });
  appendFileSync(source, "// Changed.\n");
  assert.match(run(clone, "bin/run.cjs", "--version").stderr, report);

  // The sources of the first bundle are back, with other times.
  writeFileSync(source, text);
  run(clone, "scripts/prepare-clone.mjs");
  assert.deepEqual(run(clone, "bin/run.cjs"), { stdout: "the bundle\n", stderr: "" });
});

test("[L1] a command that ran before starts with the code that was compiled then, whatever it sets in V8", async (t) => {
  const { clone, program } = await bundledClone(t);
  const folder = join(clone, "data");
  const starts = [["session", "list"], ["acp"]];
  const env = { ...process.env, APTOVE_DATA_DIR: folder, APTOVE_PROVIDER: "offline" };
  const start = (args: string[]): void => {
    const { status, stderr } = spawnSync(join(clone, "bin", "aptove"), args, {
      cwd: clone,
      env,
      encoding: "utf8",
      input: "",
    });
    assert.equal(status, 0, stderr);
  };
  start(["ask", "hello"]);
  for (const args of starts) {
    start(args);
    const kept = readdirSync(join(dirname(program), "compiled"))
      .filter((name) => name.startsWith(`${args[0]}@`))
      .map((name) => join(dirname(program), "compiled", name));
    assert.equal(kept.length, 1);
    const times = kept.map((file) => statSync(file).mtimeMs);
    start(args);
    // V8 refuses code that was compiled with other settings. Then it is compiled and written again.
    assert.deepEqual(
      times,
      kept.map((file) => statSync(file).mtimeMs),
      args.join(" "),
    );
  }
});

test("[L1] a package that the bundle loads on the way causes no warning of Node", async (t) => {
  const { clone, program } = await bundledClone(t);
  writeFileSync(program, '(function () { import("picocolors").then(() => console.log("loaded")); })');
  assert.deepEqual(run(clone, "bin/run.cjs"), { stdout: "loaded\n", stderr: "" });
});

test("[L1] a copy of a clone runs the copied bundle, though all files have new times", async (t) => {
  const { clone, program } = await bundledClone(t);
  mark(program);
  const copy = join(await temporaryFolder(t), "copy");
  cpSync(clone, copy, { recursive: true });
  const source = join(copy, "src", "version.ts");
  assert.deepEqual(run(copy, "bin/run.cjs"), { stdout: "the bundle\n", stderr: "" });
  const state = join(copy, ".cache", "bundles", "current.json");
  const noted = readFileSync(state);
  assert.deepEqual(run(copy, "bin/run.cjs"), { stdout: "the bundle\n", stderr: "" });
  assert.deepEqual(readFileSync(state), noted);
  writeFileSync(source, readFileSync(source, "utf8").replace("The folder", "the folder"));
  assert.match(run(copy, "bin/run.cjs", "--version").stderr, report);
});

test("a clone without a bundle runs its sources and reports it", async (t) => {
  const { clone, bundles } = await bundledClone(t);
  rmSync(bundles, { recursive: true });
  assert.match(run(clone, "bin/run.cjs", "--version").stderr, report);
});

test("[L1] who can read a clone of another user can run its bundle, and gets no report at each call of what only that user can change", async (t) => {
  const { clone, bundles, program } = await bundledClone(t);
  const modeOf = (path: string): number => statSync(path).mode & 0o777;
  assert.equal(modeOf(dirname(program)), modeOf(bundles));
  // Nothing can be noted here, as in a folder that is not writable. Root may write into any other.
  rmSync(join(clone, ".cache"), { recursive: true });
  writeFileSync(join(clone, ".cache"), "");
  assert.equal(run(clone, "bin/run.cjs", "--version").stderr, "");
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
