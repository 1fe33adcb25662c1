/** Changes what a store has, as a damaged disk does: in both places where a data folder may keep the contents of conversations. */
import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";

export const places = ["database", "files"] as const;
export type Place = (typeof places)[number];

/** The ids of all turns, in their order. */
export function turnIdsOf(dataDir: string): string[] {
  return withDatabase(
    dataDir,
    (database) => database.prepare("select id from turns order by id").pluck().all() as string[],
  );
}

/** Changes one bit in what is stored of the blob. In the database it is in the pack that has all blobs of the turn. */
export function flipBit(dataDir: string, turnId: string, name: string): void {
  const file = join(dataDir, "blobs/turns", turnId, `${name}.zst`);
  if (existsSync(file)) {
    writeFileSync(file, flipped(readFileSync(file)));
    return;
  }
  flipIn(dataDir, turnId, "blobs");
}

/** Changes one bit in the row of a finished turn. */
export function flipRowBit(dataDir: string, turnId: string): void {
  flipIn(dataDir, turnId, "sealed");
}

function flipIn(dataDir: string, turnId: string, column: "blobs" | "sealed"): void {
  withDatabase(dataDir, (database) => {
    const found = database.prepare(
      `select id, ${column} as bytes from contents where id = (select content_id from turns where id = ?)`,
    );
    const { id, bytes } = found.get(turnId) as { id: number; bytes: Buffer };
    database.prepare(`update contents set ${column} = ? where id = ?`).run(flipped(bytes), id);
  });
}

/** Removes all blobs of a turn, or a file of them. */
export function removeBlobs(dataDir: string, turnId: string, name: string): void {
  if (existsSync(join(dataDir, "blobs"))) {
    rmSync(join(dataDir, "blobs/turns", turnId, `${name}.zst`));
    return;
  }
  withDatabase(dataDir, (database) => {
    const change = "update contents set blobs = null where id = (select content_id from turns where id = ?)";
    assert.equal(database.prepare(change).run(turnId).changes, 1);
  });
}

/** Removes the records. If the contents are in the same file, they are gone too. */
export function removeRecords(dataDir: string): void {
  for (const end of ["", "-wal", "-shm"]) rmSync(join(dataDir, `records.db${end}`), { force: true });
}

/** Lists the files of the folder of blobs. */
export function blobFiles(dataDir: string): string[] {
  const folder = join(dataDir, "blobs");
  if (!existsSync(folder)) return [];
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
}

export function withDatabase<T>(dataDir: string, work: (database: Database.Database) => T): T {
  const database = new Database(join(dataDir, "records.db"), { fileMustExist: true });
  try {
    return work(database);
  } finally {
    database.close();
  }
}

function flipped(bytes: Buffer): Buffer {
  const middle = Math.floor(bytes.length / 2);
  const changed = Buffer.from(bytes);
  changed[middle] = (changed[middle] ?? 0) ^ 1;
  return changed;
}
