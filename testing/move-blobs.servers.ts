/** The program itself is killed at several points while it moves the blobs of a data folder (B1, B3). */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { cpSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { fileURLToPath } from "node:url";
import { createAptove } from "../src/index.ts";
import { temporaryFolder } from "./temporary-folder.ts";

const path = (from: string): string => fileURLToPath(new URL(from, import.meta.url));

interface Ended {
  signal: string | null;
  status: number | null;
  stderr: string;
}

function move(dataDir: string, to: string, env: Record<string, string>): Ended {
  const { PATH, TMPDIR, TEST_RUN_MARK } = process.env;
  const { signal, status, stderr } = spawnSync(path("../bin/aptove"), ["move-blobs", to], {
    env: {
      ...{ PATH, TMPDIR, TEST_RUN_MARK, HOME: dataDir, APTOVE_DATA_DIR: dataDir },
      ...{ NODE_OPTIONS: `--import ${path("./children/die-at.ts")}`, ...env },
    },
  });
  return { signal, status, stderr: stderr.toString() };
}

/** Opens the folder, verifies every session, and continues one. Returns how many turns there were. */
async function used(dataDir: string): Promise<number> {
  const { engine } = await createAptove({ dataDir, env: {}, overrides: { provider: "offline" }, report: () => {} });
  try {
    const owner = await engine.keys.owner();
    let turns = 0;
    for (const { id } of (await engine.sessions.list(owner, { limit: 100 })).sessions) {
      const { fault, turnsChecked } = await engine.explain.verify(owner, id);
      assert.equal(fault, null, id);
      turns += turnsChecked;
    }
    const more = await (await engine.turns.run(owner, { instruction: "more", repo: null })).finished;
    assert.equal(more.status, "completed");
    return turns;
  } finally {
    await engine.close();
  }
}

async function copyOf(t: TestContext, folder: string): Promise<string> {
  const dataDir = join(await temporaryFolder(t), "data");
  cpSync(folder, dataDir, { recursive: true });
  return dataDir;
}

function moved(dataDir: string, to: string, env: Record<string, string> = {}): void {
  const { signal, status, stderr } = move(dataDir, to, env);
  assert.deepEqual([signal, status], [null, 0], stderr);
  const folders = readdirSync(dataDir).filter((name) => name.startsWith("blobs"));
  assert.deepEqual(folders, to === "files" ? ["blobs"] : []);
}

test("[B1] [B3] a move of blobs that is killed with kill -9 loses nothing, whenever it is, and the next one ends it", async (t) => {
  let folder = path("./fixtures/data-0.1.0/folder");
  const callsTo = join(await temporaryFolder(t), "calls");
  for (const to of ["database", "files"]) {
    const there = await copyOf(t, folder);
    moved(there, to, { CALLS_TO: callsTo });
    const calls = Number(readFileSync(callsTo, "utf8"));
    const turns = await used(await copyOf(t, folder));
    // While it copies, before the rename that decides, and after it, when only deleting is left.
    for (const at of [Math.ceil(calls * 0.4), calls - 2, calls]) {
      const dataDir = await copyOf(t, folder);
      const { signal, stderr } = move(dataDir, to, { DIE_AT: String(at) });
      assert.equal(signal, "SIGKILL", `call ${at} of ${calls}: ${stderr}`);
      assert.equal(await used(dataDir), turns);
      moved(dataDir, to);
      assert.equal(await used(dataDir), turns + 1);
    }
    folder = there;
  }
});
