/** Backups and restores of data that is damaged: what is damaged is named, and the rest is there (B1, B3). */
import assert from "node:assert/strict";
import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { cliWorld } from "../../testing/cli.ts";
import { temporaryFolder } from "../../testing/temporary-folder.ts";

interface Report {
  turns: number;
  damaged: { name: string; why: string }[];
}

/** Three sessions of one turn, and the names of their folders of blobs, in order. */
async function world(t: TestContext) {
  const cli = await cliWorld(t);
  for (const text of ["one", "two", "three"]) assert.equal((await cli.run(["ask", text, "--new"])).exit, 0);
  const turns = readdirSync(join(cli.dataDir, "blobs/turns")).toSorted();
  const run = async (...args: string[]) => {
    const { exit, stdout } = await cli.run([...args, "--json"]);
    return { exit, ...(JSON.parse(stdout) as Report) };
  };
  return { cli, turns, run, folder: await temporaryFolder(t) };
}

function flipBit(path: string): void {
  const bytes = readFileSync(path);
  bytes[Math.floor(bytes.length / 2)] = (bytes[Math.floor(bytes.length / 2)] ?? 0) ^ 1;
  writeFileSync(path, bytes);
}

test("[B1] [B3] a backup names a missing and a damaged blob, takes the rest, and ends with 1; so does its restore", async (t) => {
  const { cli, turns, run, folder } = await world(t);
  const [one = assert.fail(), two = assert.fail(), three = assert.fail()] = turns;
  rmSync(join(cli.dataDir, "blobs/turns", one, "run.json.zst"));
  flipBit(join(cli.dataDir, "blobs/turns", two, "opening.json.zst"));
  const copy = join(folder, "copy");
  const made = await run("backup", copy);
  const names = [`turns/${one}/run.json`, `turns/${two}/opening.json.zst`].toSorted();
  assert.deepEqual([made.exit, made.turns, made.damaged.map(({ name }) => name)], [1, 3, names]);
  assert.match(made.damaged.find(({ name }) => name.includes(one))?.why ?? "", /^is missing; the turn .* needs it$/);

  for (const name of ["records.db", "records.db-wal", "records.db-shm", "blobs"]) {
    rmSync(join(cli.dataDir, name), { recursive: true, force: true });
  }
  const shown = await cli.run(["restore", copy]);
  assert.equal(shown.exit, 1);
  for (const name of names) assert.ok(shown.stderr.includes(`damaged: ${name} `), shown.stderr);
  for (const [id, exit] of [
    [one, 1],
    [two, 1],
    [three, 0],
  ] as const) {
    assert.equal((await cli.run(["session", "verify", id])).exit, exit, id);
  }
});

test("[B3] a bit that flips in a backup is named by its restore; a good blob that is there stays", async (t) => {
  const { cli, turns, run, folder } = await world(t);
  const [one = assert.fail(), two = assert.fail()] = turns;
  const copy = join(folder, "copy");
  assert.deepEqual((await run("backup", copy)).damaged, []);
  flipBit(join(copy, "blobs/turns", one, "state.json.zst"));
  flipBit(join(copy, "blobs/turns", two, "state.json.zst"));
  rmSync(join(copy, "version"));
  for (const name of ["records.db", "records.db-wal", "records.db-shm", `blobs/turns/${one}`]) {
    rmSync(join(cli.dataDir, name), { recursive: true, force: true });
  }
  const restored = await run("restore", copy);
  assert.equal(restored.exit, 1);
  assert.deepEqual(
    restored.damaged.map(({ name }) => name),
    [`turns/${one}/state.json.zst`, "version"],
  );
  assert.equal((await cli.run(["session", "verify", one])).exit, 1);
  assert.equal((await cli.run(["session", "verify", two])).exit, 0);
});

test("[B3] a backup of rows whose file is damaged says so, and leaves no file that looks like a backup", async (t) => {
  const { cli, folder } = await world(t);
  const records = join(cli.dataDir, "records.db");
  const bytes = readFileSync(records);
  writeFileSync(records, bytes.fill(0x5a, 4_096));
  const made = await cli.run(["backup", join(folder, "copy")]);
  assert.equal(made.exit, 1);
  assert.match(made.stderr, /could not be copied.*storage_failed/);
  assert.ok(!readdirSync(join(folder, "copy")).includes("backup.json"));
});

test("[B3] [D2] doctor reads every turn only with --deep, says so otherwise, and names the turn and what is wrong", async (t) => {
  const { cli, turns } = await world(t);
  const [one = assert.fail()] = turns;
  const whole = await cli.run(["doctor", "--deep"]);
  assert.match(whole.stdout, /ok turns +3 turns read, all are whole/);
  flipBit(join(cli.dataDir, "blobs/turns", one, "run.json.zst"));
  assert.match((await cli.run(["doctor"])).stdout, /-- turns +their contents were not read.*aptove doctor --deep/);
  const deep = await cli.run(["doctor", "--deep"]);
  assert.equal(deep.exit, 1);
  assert.match(deep.stdout, new RegExp(`!! turns +turn ${one} of session ${one}: .*run.json.*checksum`));
});
