/** The package as a person installs it, with npm from its registry, and the archive on a machine without Node. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, delimiter, join } from "node:path";
import { after, before, test } from "node:test";
import { commandRunner, packCheckout, root, version } from "./pack-checkout.ts";
import { makeStandalone } from "./standalone.ts";

const folder = realpathSync(mkdtempSync(join(tmpdir(), "aptove-test-")));
const nodePath = `${join(process.execPath, "..")}${delimiter}${process.env["PATH"]}`;
// The rest of the environment may say how the registry is reached.
const run = commandRunner({ ...process.env, PATH: nodePath, HOME: folder, npm_config_cache: join(folder, "npm") });
const patience = { timeout: 300_000 };
let packed = "";

before(() => void (packed = packCheckout(folder, run)), patience);
after(() => rmSync(folder, { recursive: true, force: true }));

/** Makes a repository, indexes it and asks about it, with the offline model. Returns the answer. */
function indexAndAsk(command: string, path: string, name: string): string {
  const work = join(folder, name);
  mkdirSync(work);
  writeFileSync(
    join(work, "price.ts"),
    "export function roundPrice(cents: number) {\n  return Math.round(cents);\n}\n",
  );
  const git = ["-c", "user.name=Ann", "-c", "user.email=ann@example.com"];
  for (const args of [
    ["init", "-q"],
    ["add", "."],
    ["commit", "-q", "-m", "Prices"],
  ])
    run("git", [...git, ...args], work);
  const env = { PATH: path, HOME: work, APTOVE_DATA_DIR: join(work, "data"), APTOVE_PROVIDER: "offline" };
  const runThere = commandRunner(env);
  assert.equal(runThere(command, ["--version"], work), `${version}\n`);
  runThere(command, ["index"], work);
  return runThere(command, ["ask", "where is roundPrice?"], work);
}

test("[Y1] [L1] npm installs the package globally, and the command answers", patience, () => {
  const prefix = join(folder, "global");
  // A registry that does not answer fails the test in time, with npm's own words.
  const bounds = ["--fetch-timeout=60000", "--fetch-retries=1", "--no-audit", "--no-fund"];
  run("npm", ["install", "--global", "--prefix", prefix, ...bounds, packed], folder);
  const command = process.platform === "win32" ? join(prefix, "aptove.cmd") : join(prefix, "bin", "aptove");
  assert.match(indexAndAsk(command, nodePath, "installed"), /price\.ts/);
  if (process.platform !== "win32") assert.ok(existsSync(join(prefix, "share", "man", "man1", "aptove.1")));
});

interface Locked {
  packages: Record<string, { version?: string; dev?: true }>;
}

/** The commands of the image's build stage after the package is made, in `shell` for these folders. */
function stepsOfImage(folders: Record<"source" | "package" | "app", string>): string[] {
  const dockerfile = readFileSync(join(root, "deploy", "Dockerfile"), "utf8").replaceAll("\\\n", "");
  const [build = ""] = dockerfile.split(/^FROM /m).slice(1);
  const [first = "", ...steps] = [...build.matchAll(/^RUN (.*)$/gm)].map(([, command = ""]) => command);
  assert.match(first, /npm pack/);
  const here = (command: string): string =>
    Object.entries(folders).reduce((text, [name, path]) => text.replaceAll(`/${name}`, `'${path}'`), command);
  return steps.map(here);
}

test(
  "[L1] the steps of the image install the packages of the lock file, and its entry point answers",
  patience,
  (t) => {
    if (process.platform === "win32") return t.skip("the image is built by a shell");
    const [source, app] = [join(folder, "source"), join(folder, "app")];
    mkdirSync(source);
    for (const name of ["package.json", "package-lock.json"]) cpSync(join(root, name), join(source, name));
    for (const step of stepsOfImage({ source, app, package: folder })) run("sh", ["-ec", step], source);
    const { packages } = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8")) as Locked;
    const { packages: found } = JSON.parse(
      readFileSync(join(app, "node_modules", ".package-lock.json"), "utf8"),
    ) as Locked;
    assert.ok(Object.keys(found).length > 20);
    for (const [path, { version: has }] of Object.entries(found)) {
      assert.deepEqual([has, packages[path]?.dev], [packages[path]?.version, undefined], path);
    }
    const entry = join(app, "node_modules", "aptove", "bin", "aptove.mjs");
    assert.match(indexAndAsk(entry, nodePath, "image"), /price\.ts/);
  },
);

test("[L1] the archive runs without any Node on the path", patience, () => {
  const archive = makeStandalone(packed, folder, run);
  const elsewhere = join(folder, "another place");
  mkdirSync(elsewhere);
  run("tar", ["-xzf", archive, "-C", elsewhere], folder);
  // Only git: no Node, and none of the usual programs.
  const path = join(folder, "path");
  mkdirSync(path);
  symlinkSync(spawnSync("sh", ["-c", "command -v git"], { encoding: "utf8" }).stdout.trim(), join(path, "git"));
  const command = join(elsewhere, basename(archive, ".tar.gz"), "bin", "aptove");
  assert.match(indexAndAsk(command, path, "standalone"), /price\.ts/);
});
