/** The archive on a machine without Node. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, delimiter, join } from "node:path";
import { after, before, test } from "node:test";
import { commandRunner, packCheckout, version } from "./pack-checkout.ts";
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
