/**
 * The place of the contents of conversations (B1): in the configured bucket, in the database of the records, or as files of the data
 * folder. A folder that has files goes on with them until it is moved; a new folder gets the database.
 */
import { existsSync } from "node:fs";
import type { Configuration } from "../../configuration/configuration.ts";
import type { DataFolder } from "../../configuration/data-folder.ts";
import { AptoveError } from "../../domain/errors.ts";

export type BlobPlace = "bucket" | "database" | "files";

type StoreConfiguration = Pick<Configuration, "records" | "blobs">;

/** Creates nothing. Throws `config_invalid` if the setting contradicts what the folder has. */
export function blobPlace({ records, blobs }: StoreConfiguration, folder: DataFolder): BlobPlace {
  if (blobs.url !== null) return "bucket";
  if (records.url !== null) {
    if (blobs.store !== "database") return "files";
    const fix = 'name a bucket in blobs.url, or set blobs.store to "files"';
    throw new AptoveError("config_invalid", `blobs.store is "database", and the records are in PostgreSQL; ${fix}`);
  }
  if (!hasBlobFiles(folder)) return blobs.store ?? "database";
  if (blobs.store === "database") throw contradiction("database", folder.blobs);
  return "files";
}

/** Returns true if the contents of the folder's conversations are files. */
export function hasBlobFiles({ blobs }: Pick<DataFolder, "blobs">): boolean {
  return existsSync(blobs);
}

/** Throws `config_invalid` if files or a bucket are to be used, and the contents are in the database. */
export async function refuseHiddenContents(folder: DataFolder, chosen: "bucket" | "files"): Promise<void> {
  if (hasBlobFiles(folder) || !existsSync(folder.records)) return;
  const { hasEmbeddedBlobs } = await import("../../records/sql/sqlite/sqlite-snapshot.ts");
  if (hasEmbeddedBlobs(folder.records)) throw contradiction(chosen, folder.records);
}

function contradiction(chosen: BlobPlace, found: string): AptoveError {
  const setting = chosen === "bucket" ? "blobs.url names a bucket" : `blobs.store is "${chosen}"`;
  const move = chosen === "bucket" ? "" : `, or move them: aptove move-blobs ${chosen}`;
  const detail = `${setting}, but the contents of the conversations are in ${found}; remove the setting${move}`;
  return new AptoveError("config_invalid", detail);
}
