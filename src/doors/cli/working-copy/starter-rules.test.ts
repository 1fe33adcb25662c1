import assert from "node:assert/strict";
import { existsSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { cliWorld } from "../../../../testing/cli.ts";

test("[M1] init writes a first AGENTS.md from what the repository has, also from a folder below, and never overwrites", async (t) => {
  const world = await cliWorld(t);
  const scripts = { zip: "zip", test: "node --test", "bad name; rm": "x" };
  await world.write("package.json", JSON.stringify({ scripts }));
  await world.write("Cargo.toml", "");
  world.git("add", ".");
  const file = join(world.copy, "AGENTS.md");
  const first = await world.run(["init"], { cwd: join(world.copy, "src") });
  assert.equal(first.exit, 0, first.stderr);
  assert.match(first.stdout, /^wrote .*AGENTS\.md; read it/);
  const text = readFileSync(file, "utf8");
  assert.match(text, /- typescript \(1 file\)\n/);
  assert.match(text, /- `npm run test`\n- `npm run zip`\n- `cargo build`\n- `cargo test`\n/);
  assert.match(text, /- `src\/`\n/);
  assert.doesNotMatch(text, /bad name/);
  const again = await world.run(["init"]);
  assert.equal(again.exit, 1);
  assert.match(again.stderr, /exists already/);
  assert.equal(readFileSync(file, "utf8"), text);
  rmSync(file);
  const outside = join(world.copy, "..", "outside.md");
  symlinkSync(outside, file);
  assert.equal((await world.run(["init"])).exit, 1);
  assert.throws(() => readFileSync(outside));
});

test("[M1] init works outside of git and with a broken package.json, and the next session reads the file", async (t) => {
  const world = await cliWorld(t);
  await world.write("package.json", "{");
  world.git("add", ".");
  assert.equal((await world.run(["init"])).exit, 0);
  await world.run(["index"]);
  const asked = await world.run(["ask", "hello"]);
  assert.match(asked.stderr, /^rules: AGENTS\.md$/m);
});

test(
  "[M1] [L1] init in a folder where nothing can be written says so, and is no fault of aptove",
  { skip: !existsSync("/proc/self") && "there is no /proc" },
  async (t) => {
    const world = await cliWorld(t);
    const { exit, stderr } = await world.run(["init"], { cwd: "/proc" });
    assert.equal(exit, 1);
    assert.match(stderr, /\/proc\/AGENTS\.md cannot be written \(\w+\).* \(storage_failed\)$/m);
    assert.match(stderr, /^fix: .*permission/m);
    assert.doesNotMatch(stderr, /report/);
  },
);
