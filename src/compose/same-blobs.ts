/**
 * Whether the blobs are those of the records. Servers that share records in PostgreSQL must share the blobs too, and a folder of
 * each machine's own looks like it until somebody goes on with another server's turn. So the blob store has an id, in a blob that
 * goes with every copy of it, and the records keep the id of theirs.
 */
import type { BlobStore } from "../blobs/blob-store.ts";
import { AptoveError } from "../domain/errors.ts";
import { newId } from "../domain/ids.ts";
import type { RecordStore } from "../records/record-store.ts";

/** As docs/formats/blobs.md has it. */
export const identityKey = "store/identity.json";

export interface Belonging {
  records: Pick<RecordStore, "storage">;
  blobs: Pick<BlobStore, "get" | "put">;
  report(message: string, error: unknown): void;
}

/**
 * Throws `blobs_foreign`, and `data_newer` where a newer version gave the blobs their id. The first start on records that
 * name no blob store takes the one that it has. Blobs that do not answer are told of and nothing more: a server starts,
 * and is not ready.
 */
export async function checkSameBlobs({ records, blobs, report }: Belonging): Promise<void> {
  const kept = await records.storage.blobStoreId();
  let id: string | null;
  try {
    id = await identityOf(blobs);
    if (id === null && kept === null) id = await identify(blobs);
  } catch (error) {
    if (error instanceof AptoveError && error.code === "data_newer") throw error;
    report("it could not be looked whether the blobs are those of the records", error);
    return;
  }
  // Two that start at once, each on blobs of its own, have both come here.
  if (id !== null && id === (kept ?? (await records.storage.claimBlobStore(id)))) return;
  const mend =
    "share one folder among the servers, or set blobs.url to the bucket of the others (docs/blobs-in-s3.md); " +
    "after a restore, bring back all of the blobs";
  const what = id === null ? "there is no store/identity.json in them" : "they belong to other records";
  throw new AptoveError("blobs_foreign", `the records were begun with other blobs than these: ${what}; ${mend}`);
}

/** Whoever is second finds the first one's. */
async function identify(blobs: Belonging["blobs"]): Promise<string | null> {
  const identity = { format: 1, id: newId() };
  try {
    await blobs.put(identityKey, Buffer.from(JSON.stringify(identity)));
    return identity.id;
  } catch (error) {
    if (error instanceof AptoveError && error.code === "blob_exists") return await identityOf(blobs);
    throw error;
  }
}

/** Null: it has none. */
async function identityOf(blobs: Belonging["blobs"]): Promise<string | null> {
  const bytes = await blobs.get(identityKey);
  if (bytes === null) return null;
  const id = idIn(Buffer.from(bytes).toString());
  if (id !== null) return id;
  const facts = { key: identityKey };
  throw new AptoveError("blob_damaged", `${identityKey} does not say whose blobs these are`, { facts });
}

/** Null: the text is damaged. Throws `data_newer`. */
function idIn(text: string): string | null {
  const { id, format } = objectIn(text);
  if (typeof format === "number" && format > 1) {
    throw new AptoveError(
      "data_newer",
      `${identityKey} has the format ${format}, this version reads 1; update aptove`,
      {
        facts: { found: format, known: 1 },
      },
    );
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
