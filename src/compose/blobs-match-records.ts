/**
 * Checks that the blobs belong to the records. Servers that share records in PostgreSQL must share the blobs too. If each
 * machine has a folder of its own instead, no one notices until a turn of another server is continued. So the blob store has an
 * id, in a blob that every copy of the store contains, and the records keep the id of their blob store. In a data folder the
 * same check finds records that were lost: new ones would start as an empty installation, to which all blobs are garbage.
 */
import { existsSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import type { BlobStore } from "../blobs/blob-store.ts";
import { AptoveError } from "../domain/errors.ts";
import { newId } from "../domain/ids.ts";
import type { DataFolder } from "../configuration/data-folder.ts";
import type { RecordStore } from "../records/record-store.ts";
import { storageFault } from "../domain/storage-fault.ts";
import { readIfPresent } from "../system/read-files.ts";

/** The key of the blob with the id of the store (docs/formats/blobs.md). */
export const blobStoreIdKey = "store/identity.json";

export interface StoresToMatch {
  records: Pick<RecordStore, "storage">;
  blobs: Pick<BlobStore, "get" | "put" | "list">;
  report(message: string, error: unknown): void;
}

/**
 * Throws `blobs_foreign`, `records_lost`, and `data_newer` if a newer version wrote the id of the blobs. If the records name no
 * blob store yet, they take this one. If the blobs do not answer, it only reports that: the server starts, and is not ready.
 */
export async function checkBlobsMatchRecords({ records, blobs, report }: StoresToMatch): Promise<void> {
  const kept = await records.storage.blobStoreId();
  let id: string | null;
  try {
    id = await readBlobStoreId(blobs);
    if (kept === null) await refuseLostRecords(records, blobs);
    if (id === null && kept === null) id = await writeBlobStoreId(blobs);
  } catch (error) {
    if (error instanceof AptoveError && ["data_newer", "records_lost"].includes(error.code)) throw error;
    report("the blob store did not answer, so it is not known whether it belongs to the records", error);
    return;
  }
  // Two servers that start at once, each with blobs of its own, both reach this line. Only one claim succeeds.
  if (id !== null && id === (kept ?? (await records.storage.claimBlobStore(id)))) return;
  throw blobsForeign(id === null ? "they have no store/identity.json" : "they belong to other records");
}

/**
 * Throws `blobs_foreign` if records that are to have the blobs in their own file were created with others, for example with a folder
 * of files that is gone.
 */
export async function checkDatabaseHasBlobs({ records, blobs }: Omit<StoresToMatch, "report">): Promise<void> {
  const kept = await records.storage.blobStoreId();
  if (kept !== null && (await readBlobStoreId(blobs)) !== kept) throw blobsForeign("the folder blobs is gone");
}

function blobsForeign(what: string): AptoveError {
  const fix =
    "put back the blobs that belong to them: after a restore, restore all of the blobs too; " +
    "let all servers share one folder, or set blobs.url to the bucket of the other servers (docs/blobs-in-s3.md)";
  return new AptoveError("blobs_foreign", `the records were created with other blobs than these: ${what}; ${fix}`);
}

/** The names that tell whether a data folder lost its records, or gets some from a restore. */
type RecordsPlace = Pick<DataFolder, "dir" | "records" | "recordsRestoring" | "workspaces">;

/**
 * Throws `records_lost` if the database of a data folder is gone or empty, and a workspace has a transcript: then there were sessions.
 * Records and blobs are one file, so nothing else tells that they existed. Throws `restore_unfinished` too, and `storage_failed`.
 */
export function checkDatabaseExists(folder: RecordsPlace): void {
  const { records, workspaces } = folder;
  refuseUnfinishedRestore(folder);
  const isThere = [records, `${records}-wal`].some(
    (file) => (statSync(file, { throwIfNoEntry: false })?.size ?? 0) > 0,
  );
  if (isThere || !existsSync(workspaces)) return;
  const named = namesIn(workspaces).find((name) => isTranscript(join(workspaces, name, "session.md")));
  // Another process may have made the database, and then the transcript, in the meantime.
  if (named === undefined || (statSync(records, { throwIfNoEntry: false })?.size ?? 0) > 0) return;
  const fix = `put ${records} back from a backup (aptove restore); to start without this history, move the folder workspaces away`;
  const detail = `the workspace ${named} has a transcript, and the records are lost or empty; ${fix}`;
  throw new AptoveError("records_lost", detail, { facts: { workspace: named } });
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    throw storageFault(`${folder} could not be read`, error);
  }
}

/**
 * Throws `restore_unfinished` if a restore was begun and there are no records: new ones would take the place of those that it brings when it
 * ends, or is run again.
 */
export function refuseUnfinishedRestore({ dir, records, recordsRestoring }: RecordsPlace): void {
  if (!existsSync(recordsRestoring) || existsSync(records)) return;
  const detail = `${dir} has no records yet; to begin without the backup, delete ${recordsRestoring}`;
  throw new AptoveError("restore_unfinished", detail);
}

/** Throws `records_lost` if the records have no turn and no blob store, and the blobs have turns. */
async function refuseLostRecords(records: StoresToMatch["records"], blobs: StoresToMatch["blobs"]): Promise<void> {
  // Blobs are read before rows: another process that starts now writes its turns after it has claimed the blobs.
  const turns = turnsIn(await blobs.list("turns/"));
  if (turns === 0 || (await records.storage.turnIds({ after: null, limit: 1 })).length > 0) return;
  if ((await records.storage.blobStoreId()) === null) throw recordsLost(turns);
}

/** Returns how many turns the keys of blobs name. */
function turnsIn(keys: readonly string[]): number {
  return new Set(keys.map((key) => key.split("/")[1])).size;
}

function recordsLost(turns: number): AptoveError {
  const fix =
    "put the records back from a backup (aptove restore); to start without this history, move the folder blobs away, or name another bucket";
  const detail = `the blobs have ${turns} turns, and the records have none: the records are lost or empty; ${fix}`;
  return new AptoveError("records_lost", detail, { facts: { turns } });
}

/** Returns true if the front matter names a session. A file that a person wrote names none. */
function isTranscript(path: string): boolean {
  const text = readIfPresent(path)?.subarray(0, 1_024).toString() ?? "";
  return text.startsWith("---") && /^session: /m.test(text);
}

/**
 * Throws `records_lost` if a data folder has blobs of turns and no records at all, before a new, empty file of records takes
 * their place. Throws `restore_unfinished` too.
 */
export async function checkRecordsExist(folder: RecordsPlace, openBlobs: () => Promise<BlobStore>): Promise<void> {
  const file = folder.records;
  refuseUnfinishedRestore(folder);
  if (existsSync(file)) return;
  const turns = turnsIn(await (await openBlobs()).list("turns/"));
  // Another process may have made the file, and then the turns, in the meantime.
  if (turns > 0 && !existsSync(file)) throw recordsLost(turns);
}

/** Writes a new id and returns it. Returns the id of the other process if that one was first. */
async function writeBlobStoreId(blobs: StoresToMatch["blobs"]): Promise<string | null> {
  const identity = { format: 1, id: newId() };
  try {
    await blobs.put(blobStoreIdKey, Buffer.from(JSON.stringify(identity)));
    return identity.id;
  } catch (error) {
    if (error instanceof AptoveError && error.code === "blob_exists") return await readBlobStoreId(blobs);
    throw error;
  }
}

/** Reads the id of the blob store. Returns null if it has none. */
async function readBlobStoreId(blobs: StoresToMatch["blobs"]): Promise<string | null> {
  const bytes = await blobs.get(blobStoreIdKey);
  if (bytes === null) return null;
  const id = idIn(Buffer.from(bytes).toString());
  if (id !== null) return id;
  const facts = { key: blobStoreIdKey };
  throw new AptoveError("blob_damaged", `${blobStoreIdKey} contains no id of a blob store`, { facts });
}

/** Reads the id in the blob's text. Returns null if the text is damaged. Throws `data_newer`. */
function idIn(text: string): string | null {
  const { id, format } = objectIn(text);
  if (typeof format === "number" && format > 1) {
    const detail = `${blobStoreIdKey} has the format ${format}, this version reads 1; update aptove`;
    throw new AptoveError("data_newer", detail, { facts: { found: format, known: 1 } });
  }
  return format === 1 && typeof id === "string" ? id : null;
}

function objectIn(text: string): { id?: unknown; format?: unknown } {
  try {
    const content: unknown = JSON.parse(text);
    return typeof content === "object" && content !== null ? content : {};
  } catch {
    return {};
  }
}
