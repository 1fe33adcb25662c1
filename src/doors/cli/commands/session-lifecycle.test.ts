import assert from "node:assert/strict";
import { basename } from "node:path";
import { test, type TestContext } from "node:test";
import { cliWorld, type CliWorld, type CliWorldOptions } from "../../../../testing/cli.ts";
import { blobFiles, places, withDatabase } from "../../../../testing/stored-content.ts";

async function withTurn(t: TestContext, options: CliWorldOptions = {}): Promise<CliWorld> {
  const world = await cliWorld(t, options);
  await world.run(["index"]);
  await world.run(["ask", "how is a user greeted?"]);
  return world;
}

test("[S6] [L1] an archived session is readable and takes no turns, until it is unarchived", async (t) => {
  const world = await withTurn(t);
  assert.match((await world.run(["session", "archive", "last"])).stdout, /: archived; it stays readable/);
  const listed = await world.run(["session", "list", "--archived"]);
  assert.match(listed.stdout, /how is a user greeted\?$/m);
  const id = listed.stdout.slice(0, 8);
  assert.equal((await world.run(["session", "show", id])).exit, 0);
  const refused = await world.run(["ask", "-s", id, "more"]);
  assert.equal(refused.exit, 1);
  assert.match(refused.stderr, /\(session_archived\)\nfix: .*aptove session unarchive/);
  assert.match((await world.run(["session", "unarchive", id])).stdout, /: accepts turns again/);
  assert.equal((await world.run(["ask", "-s", id, "more"])).exit, 0);
});

for (const store of places) {
  test(`[S6] [L1] a deleted session is in no list, can be restored, and can be purged permanently (${store})`, async (t) => {
    const world = await withTurn(t, { store });
    const id = (await world.run(["session", "list"])).stdout.slice(0, 8);
    const unasked = await world.run(["session", "delete", id]);
    assert.equal(unasked.exit, 2);
    assert.match(
      unasked.stderr,
      /no terminal to ask for confirmation: delete [0-9a-f]{8} "how is.*" with 1 turn\?.*\nfix: .*--yes/,
    );
    const deleted = await world.run(["session", "delete", id, "--yes"]);
    assert.match(deleted.stdout, /deleted; bring it back with: aptove session restore [0-9a-f]{8}\n$/);
    assert.match((await world.run(["session", "list"])).stderr, /there are no sessions yet/);
    assert.match((await world.run(["session", "list", "--removed"])).stdout, /how is a user greeted\?$/m);
    assert.match((await world.run(["session", "restore", id])).stdout, /: restored\n$/);
    assert.match((await world.run(["session", "list", "--removed"])).stderr, /there are no deleted sessions/);

    const alive = await world.run(["session", "purge", id, "--yes"]);
    assert.equal(alive.exit, 1);
    assert.match(alive.stderr, /there is no deleted session/);
    await world.run(["session", "delete", id, "--yes"]);
    const purged = await world.run(["session", "purge", id, "--yes"]);
    assert.match(purged.stdout, /^1 turn purged, [1-9][\d.]* (B|KB) and \d blobs? freed\n$/);
    assert.match((await world.run(["session", "list", "--removed"])).stderr, /there are no deleted sessions/);
    // Boot prompts are no part of a session.
    const left = blobFiles(world.dataDir).filter((file) => !file.includes("prompts"));
    assert.deepEqual(
      left.map((file) => basename(file)),
      store === "files" ? ["identity.json.zst"] : [],
    );
    const rows = withDatabase(world.dataDir, (database) =>
      ["turns", "contents", "words"].map((table) => database.prepare(`select count(*) from ${table}`).pluck().get()),
    );
    assert.deepEqual(rows, [0, 0, 0]);
  });
}

test("[S6] [K4] [L1] a fork keeps the turns that it shares with a purged session, and the purge reports that", async (t) => {
  const world = await withTurn(t);
  const id = (await world.run(["session", "list"])).stdout.slice(0, 8);
  await world.run(["session", "fork", id, "go on elsewhere"]);
  await world.run(["session", "delete", id, "--yes"]);
  const purged = await world.run(["session", "purge", id, "--yes"]);
  assert.match(purged.stdout, /^0 turns purged, .*\n1 turn kept, because other sessions depend on them\n$/);
  assert.match((await world.run(["session", "verify"])).stdout, /^2 turns verified/);
});

test("[L1] on a terminal delete asks, and no is no", async (t) => {
  const world = await withTurn(t);
  for (const [typed, exit] of [
    ["n", 1],
    ["", 1],
    ["y", 0],
  ] as const) {
    const asking = world.start(["session", "delete", "last"], { isTerminal: true, env: { NO_COLOR: "1" } });
    await asking.saw("with 1 turn? [y/N]");
    asking.input.write(`${typed}\n`);
    const ended = await asking.finished;
    assert.equal(ended.exit, exit, ended.stderr);
    if (exit === 1) assert.match(ended.stderr, /nothing was changed/);
  }
});

test("[K4] [L1] gc --dry-run lists what gc deletes", async (t) => {
  const world = await withTurn(t);
  const nothing = await world.run(["gc", "--dry-run"]);
  assert.deepEqual([nothing.exit, nothing.stdout], [0, "0 blobs not needed by any turn, 0 B; nothing was deleted\n"]);
  assert.equal((await world.run(["gc"])).stdout, "deleted 0 blobs not needed by any turn, 0 B\n");
  const json = await world.run(["gc", "--dry-run", "--json"]);
  assert.deepEqual(JSON.parse(json.stdout), { keys: [], bytes: 0, isMost: false });
});
