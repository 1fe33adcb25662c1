/** A data folder is moved from files into the database and back: what is in it afterwards, and what stops a move (B1, B3). */
import assert from "node:assert/strict";
import { cpSync, existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { fileURLToPath } from "node:url";
import { inventoryOf } from "../../../testing/data-inventory.ts";
import { flipBit, removeBlobs, turnIdsOf, withDatabase } from "../../../testing/stored-content.ts";
import { temporaryFolder } from "../../../testing/temporary-folder.ts";
import { cliWorld } from "../../../testing/cli.ts";
import { dataFolderAt, type DataFolder } from "../../configuration/data-folder.ts";
import { createAptove, type Aptove } from "../../compose.ts";
import { scriptedProvider } from "../../providers/scripted/scripted.ts";
import { moveBlobs } from "./move-blobs.ts";

const released = fileURLToPath(new URL("../../../testing/fixtures/data-0.1.0/folder", import.meta.url));

async function releasedFolder(t: TestContext): Promise<DataFolder> {
  const dir = join(await temporaryFolder(t), "data");
  cpSync(released, dir, { recursive: true });
  return dataFolderAt(dir);
}

/** Opens the folder, and closes it when the work is done. */
async function using<T>({ dir }: DataFolder, work: (aptove: Aptove) => Promise<T>): Promise<T> {
  const agent = { id: "default", name: "Default", provider: "scripted", index: "local" };
  const providers = [scriptedProvider({ script: () => "This is new." })];
  const aptove = await createAptove({ dataDir: dir, env: {}, providers, agentContexts: [agent], report: () => {} });
  try {
    return await work(aptove);
  } finally {
    await aptove.engine.close();
  }
}

const inventory = (folder: DataFolder): Promise<unknown> =>
  using(folder, async (aptove) => JSON.parse(JSON.stringify(await inventoryOf(aptove, ["hello"]))) as unknown);

async function verified(folder: DataFolder): Promise<number> {
  return await using(folder, async ({ engine }) => {
    const owner = await engine.keys.owner();
    let turns = 0;
    for (const { id } of (await engine.sessions.list(owner, { limit: 100 })).sessions) {
      const { fault, turnsChecked } = await engine.explain.verify(owner, id);
      assert.equal(fault, null, id);
      turns += turnsChecked;
    }
    return turns;
  });
}

/** Continues a session of the folder, and purges another one. */
async function changed(folder: DataFolder): Promise<void> {
  await using(folder, async ({ engine }) => {
    const owner = await engine.keys.owner();
    const first = await (await engine.turns.run(owner, { instruction: "one", repo: null })).finished;
    const again = await engine.turns.run(owner, { instruction: "two", sessionId: first.sessionId });
    assert.equal((await again.finished).status, "completed");
    const other = await (await engine.turns.run(owner, { instruction: "gone", repo: null })).finished;
    await engine.tree.remove(owner, other.sessionId);
    await engine.tree.purge(owner, other.sessionId);
  });
}

const names = ({ dir }: DataFolder): string[] => readdirSync(dir).filter((name) => name.startsWith("blobs"));

test("[B1] [B2] a folder of version 0.1.0 moves into the database and back, and everything in it is read as before", async (t) => {
  const folder = await releasedFolder(t);
  const [before, turns] = [await inventory(folder), await verified(folder)];
  const there = await moveBlobs({ folder, to: "database" });
  assert.ok(there.moved && there.turns > 10 && there.blobs > there.turns && there.bytes > 0);
  assert.deepEqual(names(folder), []);
  assert.deepEqual(await inventory(folder), before);
  assert.equal(await verified(folder), turns);
  withDatabase(folder.dir, (database) => {
    const one = (query: string): unknown => database.prepare(query).pluck().get();
    // What the earlier version wrote is packed like that of a new turn.
    assert.equal(one("select count(*) from turns where doc <> '' and status <> 'pending'"), 0);
    assert.equal(one("select count(*) from blobs where key like 'turns/%/run.json'"), 0);
    assert.equal(one("pragma auto_vacuum"), 2);
  });
  await changed(folder);
  const grown = await inventory(folder);
  const back = await moveBlobs({ folder, to: "files" });
  assert.ok(back.moved && back.blobs > there.blobs);
  assert.deepEqual(names(folder), ["blobs"]);
  assert.deepEqual(await inventory(folder), grown);
  assert.equal(await verified(folder), turns + 2);
  withDatabase(folder.dir, (database) => {
    const left = "select count(*) + (select count(*) from contents where blobs is not null) from blobs";
    assert.equal(database.prepare(left).pluck().get(), 0);
    assert.equal(database.pragma("freelist_count", { simple: true }), 0);
  });
  await changed(folder);
});

for (const to of ["database", "files"] as const) {
  test(`[B1] [B3] a move to the ${to} that ends anywhere has not happened, and the next one goes on with it`, async (t) => {
    const folder = await releasedFolder(t);
    if (to === "files") await moveBlobs({ folder, to: "database" });
    const turns = await verified(folder);
    const place = names(folder).includes("blobs");
    let steps = 0;
    // Each attempt gets further, and people go on with the folder after it.
    for (let attempt = 1; ; attempt += 1) {
      steps = 0;
      const stop = (): void => {
        steps += 1;
        if (steps === attempt ** 2 * 12) throw new Error("stopped here");
      };
      const moved = await moveBlobs({ folder, to, onBlob: stop }).catch((error: Error) => {
        assert.match(error.message, /stopped here/);
        return null;
      });
      if (moved !== null) break;
      assert.equal(names(folder).includes("blobs"), place);
      if (attempt % 2 === 0) await changed(folder);
      assert.ok(attempt < 20);
    }
    assert.ok(steps > 50);
    assert.equal(names(folder).includes("blobs"), !place);
    assert.ok((await verified(folder)) > turns);
    assert.deepEqual(await moveBlobs({ folder, to }).then(({ moved, place: at }) => [moved, at]), [false, to]);
    // The way back is open too, with what an interrupted move left.
    await moveBlobs({ folder, to: to === "files" ? "database" : "files" });
    assert.equal(names(folder).includes("blobs"), place);
    assert.ok((await verified(folder)) > turns);
  });
}

test("[B1] [B4] nothing is moved while another process uses the folder, and no process opens it during a move", async (t) => {
  const world = await cliWorld(t);
  assert.equal((await world.run(["ask", "hello", "--new"])).exit, 0);
  const folder = dataFolderAt(world.dataDir);
  await using(folder, async () => {
    const { exit, stderr } = await world.run(["move-blobs", "files"]);
    assert.equal(exit, 1);
    assert.match(stderr, /another process uses it.*data_in_use/);
  });
  let refused: unknown;
  const onBlob = (): void => {
    refused ??= opened(folder);
  };
  const { moved } = await moveBlobs({ folder, to: "files", onBlob });
  assert.deepEqual([moved, refused], [true, "SQLITE_BUSY"]);
  assert.match((await world.run(["session", "verify"])).stdout, /^1 turns? verified/);
});

/** Returns why a second handle on the records cannot be opened. */
function opened({ dir }: DataFolder): string | null {
  try {
    withDatabase(
      dir,
      (database) => database.pragma("busy_timeout = 0") && database.prepare("select 1 from turns").get(),
    );
    return null;
  } catch (error) {
    return (error as { code?: string }).code ?? "";
  }
}

test("[B1] [B3] a damaged or missing blob stops a move before anything is moved, and is named", async (t) => {
  for (const to of ["database", "files"] as const) {
    for (const harm of [flipBit, removeBlobs]) {
      const folder = await releasedFolder(t);
      if (to === "files") await moveBlobs({ folder, to: "database" });
      const before = names(folder);
      const [turnId = ""] = turnIdsOf(folder.dir);
      harm(folder.dir, turnId, "run.json");
      await assert.rejects(moveBlobs({ folder, to }), (error: { code?: string; message: string }) => {
        assert.equal(error.code, "move_refused");
        assert.match(error.message, new RegExp(`turns/${turnId}/.*nothing was moved`));
        return true;
      });
      assert.deepEqual(
        names(folder).filter((name) => name !== "blobs-moving"),
        before,
      );
    }
  }
});

test("[B1] an empty folder of blobs beside a full database does not cost its contents", async (t) => {
  const folder = await releasedFolder(t);
  await moveBlobs({ folder, to: "database" });
  mkdirSync(folder.blobs);
  await assert.rejects(moveBlobs({ folder, to: "files" }), { code: "move_refused" });
  withDatabase(folder.dir, (database) =>
    assert.notEqual(database.prepare("select count(*) from contents where blobs is not null").pluck().get(), 0),
  );
});

test("[B1] move-blobs reports what it moved, and names the setting or the store that prevents it", async (t) => {
  const world = await cliWorld(t);
  const none = await world.run(["move-blobs", "files"]);
  assert.match(none.stderr, /nothing to move; set blobs.store = "files".*move_refused/s);
  assert.equal((await world.run(["ask", "hello", "--new"])).exit, 0);
  const away = await world.run(["move-blobs", "files"]);
  assert.match(away.stdout, /are in files now, and were compared: 1 turn, \d+ blobs/);
  assert.equal(away.exit, 0);
  assert.ok(existsSync(join(world.dataDir, "blobs")));
  const again = await world.run(["move-blobs", "files"]);
  assert.match(again.stdout, /were in files already/);
  const json = JSON.parse((await world.run(["move-blobs", "database", "--json"])).stdout) as Record<string, unknown>;
  assert.deepEqual([json["place"], json["moved"], json["turns"]], ["database", true, 1]);
  writeFileSync(join(world.dataDir, "config.toml"), '[blobs]\nstore = "database"\n');
  assert.match((await world.run(["move-blobs", "files"])).stderr, /blobs.store is "database".*remove the setting/s);
  const env = { APTOVE_RECORDS_URL: "postgres://u:p@localhost/db", APTOVE_BLOBS_STORE: "files" };
  assert.match((await world.run(["move-blobs", "files"], { env })).stderr, /records are in PostgreSQL/);
});
