/** Backups and restores of data that is damaged: what is damaged is named, and the rest is there (B1, B3). */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { cliWorld } from "../../testing/cli.ts";
import {
  flipBit,
  flipRowBit,
  places,
  removeBlobs,
  removeRecords,
  turnIdsOf,
  withDatabase,
  type Place,
} from "../../testing/stored-content.ts";
import { temporaryFolder } from "../../testing/temporary-folder.ts";

interface Report {
  turns: number;
  blobs: number;
  bytes: number;
  damaged: { name: string; why: string }[];
}

/** Three sessions of one turn, and the ids of their turns, in order. */
async function world(t: TestContext, store: Place) {
  const cli = await cliWorld(t, { store });
  for (const text of ["one", "two", "three"]) assert.equal((await cli.run(["ask", text, "--new"])).exit, 0);
  assert.equal(existsSync(join(cli.dataDir, "blobs")), store === "files");
  const run = async (...args: string[]) => {
    const { exit, stdout, stderr } = await cli.run([...args, "--json"]);
    assert.ok(stdout !== "", stderr);
    return { exit, ...(JSON.parse(stdout) as Report) };
  };
  return { cli, turns: turnIdsOf(cli.dataDir), run, folder: await temporaryFolder(t) };
}

/** Writes the checksum of the records in a backup again, as if the disk had been damaged before the backup was made. */
function signAgain(copy: string): void {
  const file = join(copy, "backup.json");
  const manifest = JSON.parse(readFileSync(file, "utf8")) as Record<string, unknown>;
  const records = createHash("sha256")
    .update(readFileSync(join(copy, "records.db")))
    .digest("hex");
  writeFileSync(file, JSON.stringify({ ...manifest, records }));
}

test("[B1] [B3] a backup names a missing and a damaged file, takes the rest, and ends with 1; so does its restore", async (t) => {
  const { cli, turns, run, folder } = await world(t, "files");
  const [one = assert.fail(), two = assert.fail(), three = assert.fail()] = turns;
  removeBlobs(cli.dataDir, one, "run.json");
  flipBit(cli.dataDir, two, "opening.json");
  const copy = join(folder, "copy");
  const made = await run("backup", copy);
  const names = [`turns/${one}/run.json`, `turns/${two}/opening.json.zst`].toSorted();
  assert.deepEqual([made.exit, made.turns, made.damaged.map(({ name }) => name)], [1, 3, names]);
  assert.match(made.damaged.find(({ name }) => name.includes(one))?.why ?? "", /^is missing; the turn .* needs it$/);

  removeRecords(cli.dataDir);
  rmSync(join(cli.dataDir, "blobs"), { recursive: true });
  const shown = await cli.run(["restore", copy]);
  assert.equal(shown.exit, 1);
  const lines = shown.stderr.split("\n").filter((line) => line.startsWith("damaged: "));
  const whys = [`is missing; the turn ${one} needs it`, "cannot be read: its checksum does not match"];
  // Each line has its key once.
  const expected = names.map((name) => `damaged: ${name} ${whys[name.includes(one) ? 0 : 1]}`);
  assert.deepEqual(lines, expected);
  for (const [id, exit] of [
    [one, 1],
    [two, 1],
    [three, 0],
  ] as const) {
    assert.equal((await cli.run(["session", "verify", id])).exit, exit, id);
  }
});

test("[B1] [B3] a backup of a database names each missing and damaged blob and row, takes the rest, and ends with 1", async (t) => {
  const { cli, turns, run, folder } = await world(t, "database");
  const [one = assert.fail(), two = assert.fail(), three = assert.fail()] = turns;
  const whole = await run("backup", join(folder, "whole"));
  assert.deepEqual([whole.exit, whole.turns, whole.damaged], [0, 3, []]);
  assert.ok(whole.blobs >= 9 && whole.bytes > 0, JSON.stringify(whole));
  removeBlobs(cli.dataDir, one, "run.json");
  flipBit(cli.dataDir, two, "run.json");
  const copy = join(folder, "copy");
  const made = await run("backup", copy);
  const expected = [one, two].flatMap((id) => ["opening", "run", "state"].map((name) => `turns/${id}/${name}.json`));
  assert.deepEqual(
    [made.exit, made.turns, made.damaged.map(({ name }) => name).toSorted()],
    [1, 3, expected.toSorted()],
  );
  for (const { name, why } of made.damaged) {
    const reason = name.includes(one)
      ? `is missing; the turn ${one} needs it`
      : "cannot be read: its checksum does not match";
    assert.equal(why, reason, name);
  }
  removeRecords(cli.dataDir);
  const restored = await run("restore", copy);
  assert.deepEqual([restored.exit, restored.damaged], [1, made.damaged]);
  for (const [id, exit] of [
    [one, 1],
    [two, 1],
    [three, 0],
  ] as const) {
    assert.equal((await cli.run(["session", "verify", id])).exit, exit, id);
  }
});

for (const store of places) {
  test(`[B1] [B3] a backup names a turn whose row is damaged, and takes the others (${store})`, async (t) => {
    const { cli, turns, run, folder } = await world(t, store);
    const [one = assert.fail(), two = assert.fail()] = turns;
    withDatabase(cli.dataDir, (database) => {
      const change =
        "update contents set sealed = substr(sealed, 2) where id = (select content_id from turns where id = ?)";
      assert.equal(database.prepare(change).run(one).changes, 1);
    });
    const made = await run("backup", join(folder, "copy"));
    assert.deepEqual([made.exit, made.damaged.map(({ name }) => name)], [1, [`turns/${one}/`]]);
    removeRecords(cli.dataDir);
    rmSync(join(cli.dataDir, "blobs"), { recursive: true, force: true });
    assert.equal((await run("restore", join(folder, "copy"))).exit, 1);
    assert.equal((await cli.run(["session", "verify", two])).exit, 0);
  });
}

test("[B3] a bit that flips in a backup is named by its restore; a good blob that is there stays", async (t) => {
  const { cli, turns, run, folder } = await world(t, "files");
  const [one = assert.fail(), two = assert.fail()] = turns;
  const copy = join(folder, "copy");
  assert.deepEqual((await run("backup", copy)).damaged, []);
  flipBit(copy, one, "state.json");
  flipBit(copy, two, "state.json");
  rmSync(join(copy, "version"));
  removeRecords(cli.dataDir);
  rmSync(join(cli.dataDir, "blobs/turns", one), { recursive: true });
  const restored = await run("restore", copy);
  assert.equal(restored.exit, 1);
  assert.deepEqual(
    restored.damaged.map(({ name }) => name),
    [`turns/${one}/state.json.zst`, "version"],
  );
  assert.equal((await cli.run(["session", "verify", one])).exit, 1);
  assert.equal((await cli.run(["session", "verify", two])).exit, 0);
});

test("[B3] a restore of a database refuses records that changed, names what is damaged, and does not hide other blobs", async (t) => {
  const { cli, turns, run, folder } = await world(t, "database");
  const [one = assert.fail(), two = assert.fail()] = turns;
  const copy = join(folder, "copy");
  assert.deepEqual((await run("backup", copy)).damaged, []);
  flipBit(copy, one, "state.json");
  removeRecords(cli.dataDir);
  assert.match((await cli.run(["restore", copy])).stderr, /its records were changed.*backup_invalid/);
  signAgain(copy);
  const files = await cliWorld(t, { store: "files" });
  assert.equal((await files.run(["ask", "mine", "--new"])).exit, 0);
  removeRecords(files.dataDir);
  assert.match((await files.run(["restore", copy])).stderr, /blobs of other sessions;.*move .* away.*backup_refused/);
  const restored = await run("restore", copy);
  assert.equal(restored.exit, 1);
  assert.ok(restored.damaged.length > 0 && restored.damaged.every(({ name }) => name.includes(one)));
  assert.equal((await cli.run(["session", "verify", two])).exit, 0);
});

for (const store of places) {
  test(`[B3] a backup of rows whose file is damaged says so, and leaves no file that looks like a backup (${store})`, async (t) => {
    const { cli, folder } = await world(t, store);
    const records = join(cli.dataDir, "records.db");
    const bytes = readFileSync(records);
    writeFileSync(records, bytes.fill(0x5a, 4_096));
    const made = await cli.run(["backup", join(folder, "copy")]);
    assert.equal(made.exit, 1);
    assert.match(made.stderr, /could not be copied.*\(records_damaged\)\nfix: .*docs\/backup\.md/);
    assert.ok(!readdirSync(join(folder, "copy")).includes("backup.json"));
  });

  test(`[B3] [D2] doctor reads every turn only with --deep, says so otherwise, and names the turn and what is wrong (${store})`, async (t) => {
    const { cli, turns } = await world(t, store);
    const [one = assert.fail()] = turns;
    const whole = await cli.run(["doctor", "--deep"]);
    assert.match(whole.stdout, /ok turns +3 turns read, all are whole/);
    flipBit(cli.dataDir, one, "run.json");
    assert.match((await cli.run(["doctor"])).stdout, /-- turns +their contents were not read.*aptove doctor --deep/);
    const deep = await cli.run(["doctor", "--deep"]);
    assert.equal(deep.exit, 1);
    assert.match(deep.stdout, new RegExp(`!! turn +${one} of session ${one}: .*json.*checksum`));
  });

  test(`[B3] [D2] doctor --deep names every turn that is damaged, also one whose row is, and says what to do (${store})`, async (t) => {
    const { cli, turns } = await world(t, store);
    const [one = assert.fail(), two = assert.fail(), three = assert.fail()] = turns;
    flipRowBit(cli.dataDir, one);
    flipBit(cli.dataDir, two, "run.json");
    const { exit, stdout } = await cli.run(["doctor", "--deep", "--json"]);
    assert.equal(exit, 1);
    const { checks } = JSON.parse(stdout) as { checks: { name: string; detail: string; fix?: string }[] };
    const [all, first, second, ...more] = checks.filter(({ name }) => /^turns?$/.test(name));
    assert.equal(all?.detail, "3 turns read, 2 turns not whole");
    assert.match(all?.fix ?? "", /docs\/backup\.md/);
    const why = `the content of turn ${one} of session ${one} is damaged: its checksum does not match`;
    assert.equal(first?.detail, `${one}: ${why}`);
    assert.match(second?.detail ?? "", new RegExp(`^${two} of session ${two}: .*json.*checksum`));
    assert.deepEqual(more, []);
    const shown = await cli.run(["session", "show", one]);
    assert.ok(shown.stderr.includes(`${why} (records_damaged)\nfix: `), shown.stderr);
    assert.equal((await cli.run(["session", "show", three])).exit, 0);
  });
}
