/** Data that a newer version wrote is refused with `data_newer`, and no file of it changes (B2). */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, readFileSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { crc32 } from "node:zlib";
import Database from "better-sqlite3";
import { compressedBlobs } from "../src/blobs/compressed-blobs.ts";
import { fileBlobs } from "../src/blobs/files/file-blobs.ts";
import { createAptove, type Aptove, type RunningTurn } from "../src/index.ts";
import { sha256 } from "../src/domain/ids.ts";
import { dataVersion } from "../src/records/sql/migrations/migrations.ts";
import { places, type Place as Store } from "./stored-content.ts";
import { temporaryFolder } from "./temporary-folder.ts";

const workspaceId = "550e8400-e29b-41d4-a716-446655440000";
const deviceId = "device-1";

interface Place {
  dataDir: string;
  turnId: string;
  sessionId: string;
}

async function open(dataDir: string, env: Record<string, string> = {}): Promise<Aptove> {
  return await createAptove({ dataDir, env, overrides: { provider: "offline" }, report: () => {} });
}

async function closed({ engine, telemetry }: Aptove): Promise<void> {
  await engine.close();
  await telemetry.close();
}

/** Makes a data folder with something in each versioned file. */
async function place(context: TestContext, kept: Store = "files"): Promise<Place> {
  const folder = await temporaryFolder(context);
  const [dataDir, repo] = [join(folder, "data"), join(folder, "shop")];
  mkdirSync(repo);
  writeFileSync(join(repo, "a.md"), "A lighthouse.\n");
  for (const args of [
    ["init", "-q"],
    ["add", "."],
  ])
    execFileSync("git", args, { cwd: repo });
  const aptove = await open(dataDir, { APTOVE_BLOBS_STORE: kept });
  const { engine } = aptove;
  const owner = await engine.keys.owner();
  const { store, bindings, permissions } = await aptove.workspaces();
  await store.create({ id: workspaceId, at: Date.now() });
  await bindings.bind(deviceId, workspaceId);
  await permissions.allow(workspaceId, "run npm test");
  await engine.indexes.index(owner, { repo: "shop", root: repo });
  const running = await engine.turns.run(owner, { instruction: "Where is the lighthouse?", workspaceId, repo: "shop" });
  const { id: turnId, sessionId, status } = await running.finished;
  assert.equal(status, "completed");
  await closed(aptove);
  return { dataDir, turnId, sessionId };
}

/** Every file below a folder with its bytes and the time of its last change. */
function filesOf(folder: string): Map<string, string> {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return new Map(
    entries
      .map((entry) => join(entry.parentPath, entry.name))
      .map((path): [string, string] => [
        path.slice(folder.length + 1),
        `${statSync(path, { bigint: true }).mtimeNs} ${sha256(readFileSync(path))}`,
      ])
      .toSorted(),
  );
}

async function refusesUntouched(dataDir: string, work: () => Promise<unknown>): Promise<void> {
  const before = filesOf(dataDir);
  await assert.rejects(work(), { code: "data_newer" });
  assert.deepEqual(filesOf(dataDir), before);
}

function sqlite(file: string, work: (database: Database.Database) => void): void {
  const database = new Database(file);
  work(database);
  database.close();
}

function replace(path: string, from: string | RegExp, to: string): void {
  const text = readFileSync(path, "utf8");
  assert.match(text, new RegExp(from));
  writeFileSync(path, text.replace(from, to));
}

const next = dataVersion + 1;

test("[B2] [B6] a data folder of a newer layout is refused, and not touched", async (t) => {
  const { dataDir } = await place(t);
  writeFileSync(join(dataDir, "version"), "2\n");
  await refusesUntouched(dataDir, () => open(dataDir));
});

for (const store of places) {
  test(`[B2] records of a newer version are refused, and no file of the folder is touched (${store})`, async (t) => {
    const { dataDir } = await place(t, store);
    const file = join(dataDir, "records.db");
    sqlite(file, (database) => {
      database.pragma(`user_version = ${next}`);
      database.exec(`update schema_oldest set version = ${next}`);
    });
    await refusesUntouched(dataDir, () => open(dataDir));
  });
}

test("[B2] newer records whose program was killed keep their log as it is", async (t) => {
  const { dataDir } = await place(t);
  const crashed = join(await temporaryFolder(t), "data");
  sqlite(join(dataDir, "records.db"), (database) => {
    database.pragma("journal_mode = wal");
    database.pragma(`user_version = ${next}`);
    database.exec(`update schema_oldest set version = ${next}`);
    // What a killed process leaves: the log is not yet in the file.
    cpSync(dataDir, crashed, { recursive: true, preserveTimestamps: true });
  });
  const log = join(crashed, "records.db-wal");
  assert.ok(statSync(log).size > 0);
  const kept = (): string[] => [...filesOf(crashed)].filter(([name]) => !name.endsWith("-shm")).map(String);
  const before = kept();
  await assert.rejects(open(crashed), { code: "data_newer" });
  // The `-shm` file is SQLite's own index of the log in memory, and is made anew after every crash.
  assert.deepEqual(kept(), before);
});

test("[B2] blobs of a newer format are refused, and not touched", async (t) => {
  const { dataDir, turnId } = await place(t);
  const folder = join(dataDir, "blobs");
  const blobs = compressedBlobs(fileBlobs({ folder }));
  for (const name of ["opening", "run"]) {
    const key = `turns/${turnId}/${name}.json`;
    const text = Buffer.from((await blobs.get(key)) ?? []).toString();
    await blobs.delete(key);
    await blobs.put(key, Buffer.from(text.replace('"format":1', '"format":2')));
  }
  const aptove = await open(dataDir);
  const owner = await aptove.engine.keys.owner();
  const reader = await aptove.engine.turns.read(owner, turnId);
  await refusesUntouched(folder, () => reader.instruction());
  await refusesUntouched(folder, () => reader.answer());
  await closed(aptove);
});

/** A turn that cannot be prepared fails with the code; what it could not read stays as it was. */
async function failsUntouched(folder: string, work: () => Promise<RunningTurn>): Promise<void> {
  const before = filesOf(folder);
  const turn = await (await work()).finished;
  assert.deepEqual(turn.status === "failed" && turn.failures.map(({ code }) => code), ["data_newer"]);
  const after = filesOf(folder);
  for (const [name, content] of before) assert.equal(after.get(name), content, name);
}

test("[B2] a state of a newer format fails the next turn, and is not touched", async (t) => {
  const { dataDir, turnId, sessionId } = await place(t);
  const folder = join(dataDir, "blobs");
  const blobs = compressedBlobs(fileBlobs({ folder }));
  const key = `turns/${turnId}/state.json`;
  const text = Buffer.from((await blobs.get(key)) ?? []).toString();
  await blobs.delete(key);
  await blobs.put(key, Buffer.from(text.replace('"format":1', '"format":2')));
  const aptove = await open(dataDir);
  const owner = await aptove.engine.keys.owner();
  await failsUntouched(folder, () => aptove.engine.turns.run(owner, { sessionId, instruction: "And now?" }));
  await closed(aptove);
});

test("[B2] [B3] a blob that is packed in a newer way is not taken for a damaged one", async (t) => {
  const { dataDir, turnId } = await place(t);
  const folder = join(dataDir, "blobs");
  const file = join(folder, "turns", turnId, "run.json.zst");
  const bytes = readFileSync(file);
  bytes.writeUInt32LE(0x184d2a51, bytes.length - 16);
  bytes.writeUInt32LE(crc32(bytes.subarray(0, -4)), bytes.length - 4);
  writeFileSync(file, bytes);
  const blobs = compressedBlobs(fileBlobs({ folder }));
  await refusesUntouched(folder, () => blobs.get(`turns/${turnId}/run.json`));
});

test("[B2] [Q2] an index of a newer format is refused, to search and to index, and not touched", async (t) => {
  const { dataDir, sessionId } = await place(t);
  sqlite(join(dataDir, "index", "index.db"), (database) => database.pragma("user_version = 99"));
  const aptove = await open(dataDir);
  const { engine } = aptove;
  const owner = await engine.keys.owner();
  const index = join(dataDir, "index");
  // While it is open, the files of SQLite's log lie beside it.
  await assert.rejects(engine.indexes.list(owner), { code: "data_newer" });
  await refusesUntouched(index, () => engine.indexes.index(owner, { repo: "shop", root: join(dataDir, "..", "shop") }));
  await failsUntouched(index, () => engine.turns.run(owner, { sessionId, instruction: "Where?", repo: "shop" }));
  await closed(aptove);
});

test("[B2] [W1] [W2] files of workspaces of a newer format are refused, and not touched", async (t) => {
  const { dataDir } = await place(t);
  const folder = join(dataDir, "workspaces", workspaceId);
  for (const path of [join(dataDir, "bindings.toml"), join(folder, "workspace.toml"), join(folder, "permissions.toml")])
    replace(path, "format = 1", "format = 2");
  const aptove = await open(dataDir);
  const { store, bindings, permissions } = await aptove.workspaces();
  // Empty files of locks are not data.
  const watched = join(dataDir, "workspaces");
  await refusesUntouched(watched, () => store.load(workspaceId));
  await refusesUntouched(watched, () => store.update(workspaceId, { name: "other" }));
  await refusesUntouched(watched, () => permissions.allow(workspaceId, "run ls"));
  const before = readFileSync(join(dataDir, "bindings.toml"));
  await assert.rejects(bindings.bind("device-2", workspaceId), { code: "data_newer" });
  assert.deepEqual(readFileSync(join(dataDir, "bindings.toml")), before);
  await closed(aptove);
});

test("[B2] [W4] transcripts of a newer version are refused, and not touched", async (t) => {
  const { dataDir } = await place(t);
  const folder = join(dataDir, "workspaces", workspaceId);
  replace(join(folder, "transcripts.json"), /"version":2/, '"version":3');
  const aptove = await open(dataDir);
  const transcripts = await aptove.transcripts();
  await refusesUntouched(folder, () => transcripts.nextBeginning(workspaceId));
  await closed(aptove);
});
