/**
 * Moves the contents of conversations from files into the database, or back (B1). Everything is written beside what is there, read again
 * and compared; one rename of a folder then decides where the contents are, and what was there before is deleted last. So a move that
 * is killed has happened or has not, and the same command goes on with it.
 */
import { existsSync, renameSync, rmSync } from "node:fs";
import { dirname } from "node:path";
import type { BlobStore } from "../../blobs/blob-store.ts";
import type { DataFolder } from "../../configuration/data-folder.ts";
import { AptoveError, failureOf } from "../../domain/errors.ts";
import { storageFault } from "../../domain/storage-fault.ts";
import type { MovingStore } from "../../embedded/moving-store.ts";
import { syncFolder } from "../../system/durable-files.ts";
import { inParallel } from "../backup-blobs.ts";
import { blobStoreIdKey } from "../blobs-match-records.ts";
import { hasBlobFiles } from "./blob-place.ts";

export interface MoveJob {
  folder: DataFolder;
  to: "database" | "files";
  onBlob?: ((what: "copying" | "checking", done: number, total: number) => void) | undefined;
}

export interface MoveReport {
  /** The place of the contents after the move. */
  place: "database" | "files";
  /** False: they were there already. */
  moved: boolean;
  turns: number;
  blobs: number;
  /** The size of their content in bytes, not packed. */
  bytes: number;
}

interface Move extends MoveJob {
  store: MovingStore;
}

type Counts = Pick<MoveReport, "blobs" | "bytes">;

/**
 * Throws `data_in_use` if another process uses the folder, and `move_refused` if it has no records or something is missing or damaged. Then
 * the contents stay where they are.
 */
export async function moveBlobs(job: MoveJob): Promise<MoveReport> {
  const { folder, to } = job;
  if (!existsSync(folder.records)) {
    const fix = `set blobs.store = "${to}" before the first turn`;
    throw new AptoveError("move_refused", `${folder.dir} has no records, so there is nothing to move; ${fix}`);
  }
  const { openMovingStore } = await import("../../embedded/moving-store.ts");
  const store = await openMovingStore(folder.records);
  try {
    const move = { ...job, store };
    const isThere = hasBlobFiles(folder) === (to === "files");
    // What the database still has is deleted below, so the files must have all of it.
    if (isThere && to === "files") await refuseMissing(store, new Set(await (await filesIn(folder.blobs)).list("")));
    const counts = isThere ? null : await (to === "database" ? toDatabase : toFiles)(move);
    await clean(move);
    const turns = (await store.turnIds()).length;
    return { place: to, moved: counts !== null, turns, blobs: 0, bytes: 0, ...counts };
  } finally {
    await store.close();
  }
}

async function toDatabase(move: Move): Promise<Counts> {
  const { folder, store } = move;
  removeFolder(folder.blobsMoved);
  const files = await filesIn(folder.blobs);
  const keys = new Set(await files.list(""));
  await refuseMissing(store, keys);
  const readable = { ...files, get: (key: string) => readOrRefuse(files, key) };
  await store.take(readable, { all: keys, last: blobStoreIdKey }, (done) => move.onBlob?.("copying", done, keys.size));
  const counts = await compare({ from: files, to: store.blobs }, keys, move);
  await rename(folder.blobs, folder.blobsMoved);
  return counts;
}

async function toFiles(move: Move): Promise<Counts> {
  const { folder, store, onBlob } = move;
  const files = await filesIn(folder.blobsMoving);
  const keys = new Set(await store.blobs.list(""));
  await refuseMissing(store, keys);
  const there = new Set(await files.list(""));
  for (const key of there) if (!keys.has(key)) await files.delete(key);
  const missing = [...keys].filter((key) => !there.has(key));
  let done = keys.size - missing.length;
  await inParallel(missing, async (key) => {
    const bytes = await readOrRefuse(store.blobs, key);
    if (bytes !== null) await files.put(key, bytes);
    onBlob?.("copying", (done += 1), keys.size);
  });
  const counts = await compare({ from: store.blobs, to: files }, keys, move);
  await rename(folder.blobsMoving, folder.blobs);
  return counts;
}

/** Deletes what this move, or one that was killed, left behind. */
async function clean({ folder, store, to }: Move): Promise<void> {
  removeFolder(folder.blobsMoving);
  removeFolder(folder.blobsMoved);
  if (to === "files") await store.drop();
  await store.shrink();
}

async function filesIn(folder: string): Promise<BlobStore> {
  const [{ compressedBlobs }, { fileBlobs }] = await Promise.all([
    import("../../blobs/compressed-blobs.ts"),
    import("../../blobs/files/file-blobs.ts"),
  ]);
  return compressedBlobs(fileBlobs({ folder }));
}

/** Throws if a turn names a blob that is not there: after the move no one could say where it was lost. */
async function refuseMissing({ records, turnIds }: MovingStore, keys: ReadonlySet<string>): Promise<void> {
  for (const turnId of await turnIds()) {
    const named = await records.purges.blobKeysOf(turnId);
    const missing = named.find((key) => !keys.has(key));
    if (missing !== undefined) throw refused(`the turn ${turnId} needs the blob ${missing}, which is missing`);
  }
}

/** Reads every blob again in both stores. */
async function compare(
  { from, to }: { from: BlobStore; to: BlobStore },
  keys: ReadonlySet<string>,
  { store, onBlob }: Move,
): Promise<Counts> {
  store.forget();
  let [done, bytes] = [0, 0];
  for (const key of keys) {
    const [was, is] = [await readOrRefuse(from, key), await to.get(key)];
    if (was === null || is === null || Buffer.compare(was, is) !== 0) {
      throw new AptoveError("storage_failed", `the copy of the blob ${key} differs from it; nothing was moved`);
    }
    bytes += was.length;
    onBlob?.("checking", (done += 1), keys.size);
  }
  return { blobs: keys.size, bytes };
}

async function readOrRefuse(blobs: BlobStore, key: string): Promise<Uint8Array | null> {
  try {
    return await blobs.get(key);
  } catch (error) {
    const { code, message } = failureOf(error);
    throw code === "blob_damaged" ? refused(message, error) : error;
  }
}

function refused(what: string, cause?: unknown): AptoveError {
  const fix = "put it back from a backup, or purge its session; aptove doctor --deep names everything like it";
  return new AptoveError("move_refused", `${what}; nothing was moved; ${fix}`, { cause });
}

/** The step that decides. The data is durable before it. */
async function rename(from: string, to: string): Promise<void> {
  try {
    renameSync(from, to);
    await syncFolder(dirname(to));
  } catch (error) {
    throw storageFault(`${from} could not be renamed to ${to}`, error);
  }
}

function removeFolder(path: string): void {
  try {
    rmSync(path, { recursive: true, force: true });
  } catch (error) {
    throw storageFault(`${path} could not be deleted`, error);
  }
}
