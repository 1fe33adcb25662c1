/**
 * Checks that the blobs belong to the records. Servers that share records in PostgreSQL must share the blobs too. If each
 * machine has a folder of its own instead, no one notices until a turn of another server is continued. So the blob store has an
 * id, in a blob that every copy of the store contains, and the records keep the id of their blob store.
 */
import type { BlobStore } from "../blobs/blob-store.ts";
import { AptoveError } from "../domain/errors.ts";
import { newId } from "../domain/ids.ts";
import type { RecordStore } from "../records/record-store.ts";

/** The key of the blob with the id of the store (docs/formats/blobs.md). */
export const blobStoreIdKey = "store/identity.json";

export interface StoresToMatch {
  records: Pick<RecordStore, "storage">;
  blobs: Pick<BlobStore, "get" | "put">;
  report(message: string, error: unknown): void;
}

/**
 * Throws `blobs_foreign`, and `data_newer` if a newer version wrote the id of the blobs. If the records name no blob store yet,
 * they take this one. If the blobs do not answer, it only reports that: the server starts, and is not ready.
 */
export async function checkBlobsMatchRecords({ records, blobs, report }: StoresToMatch): Promise<void> {
  const kept = await records.storage.blobStoreId();
  let id: string | null;
  try {
    id = await readBlobStoreId(blobs);
    if (id === null && kept === null) id = await writeBlobStoreId(blobs);
  } catch (error) {
    if (error instanceof AptoveError && error.code === "data_newer") throw error;
    report("the blob store did not answer, so it is not known whether it belongs to the records", error);
    return;
  }
  // Two servers that start at once, each with blobs of its own, both reach this line. Only one claim succeeds.
  if (id !== null && id === (kept ?? (await records.storage.claimBlobStore(id)))) return;
  const fix =
    "let all servers share one folder, or set blobs.url to the bucket of the other servers (docs/blobs-in-s3.md); " +
    "after a restore, restore all of the blobs too";
  const what = id === null ? "they have no store/identity.json" : "they belong to other records";
  throw new AptoveError("blobs_foreign", `the records were created with other blobs than these: ${what}; ${fix}`);
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
