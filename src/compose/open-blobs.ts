/** Opens the configured blob store: files of the data folder, or an S3 bucket. Blobs are compressed in both. */
import type { BlobStore } from "../blobs/blob-store.ts";
import { AptoveError } from "../domain/errors.ts";
import type { Configuration } from "../configuration/configuration.ts";
import type { DataFolder } from "../configuration/data-folder.ts";
import { blobPlace, hasBlobFiles } from "./data-folder/blob-place.ts";

/** Throws `config_invalid` if a bucket is configured without credentials. Sends no request to the bucket yet. */
export async function openBlobs(
  { blobs }: Configuration,
  folder: DataFolder,
  env: Readonly<Record<string, string | undefined>>,
): Promise<BlobStore> {
  const { compressedBlobs } = await import("../blobs/compressed-blobs.ts");
  const { url, store: _store, ...location } = blobs;
  if (url === null) {
    const { fileBlobs } = await import("../blobs/files/file-blobs.ts");
    return compressedBlobs(fileBlobs({ folder: folder.blobs }));
  }
  const { s3Blobs } = await import("../blobs/s3/s3-blobs.ts");
  const credentials = {
    accessKeyId: credential(env, "AWS_ACCESS_KEY_ID"),
    secretAccessKey: credential(env, "AWS_SECRET_ACCESS_KEY"),
    sessionToken: env["AWS_SESSION_TOKEN"] || null,
  };
  return compressedBlobs(
    s3Blobs({ url, ...location, region: location.region ?? (env["AWS_REGION"] || null), credentials }),
  );
}

/**
 * Reads from the blobs where there are no records. Throws the fault of a bucket, and `records_lost` if the blobs have turns: then the
 * records did exist. Throws `restore_unfinished` too. Creates nothing.
 */
export async function checkBlobs(
  configuration: Configuration,
  folder: DataFolder,
  env: Readonly<Record<string, string | undefined>>,
): Promise<void> {
  const place = blobPlace(configuration, folder);
  const { checkDatabaseExists, checkRecordsExist, refuseUnfinishedRestore } = await import("./blobs-match-records.ts");
  if (place !== "bucket" && !hasBlobFiles(folder)) {
    if (place === "database") checkDatabaseExists(folder);
    else refuseUnfinishedRestore(folder);
    return;
  }
  const blobs = await openBlobs(configuration, folder, env);
  await blobs.get("turns/none");
  if (configuration.records.url !== null) return;
  await checkRecordsExist(folder, async () => blobs);
}

function credential(env: Readonly<Record<string, string | undefined>>, name: string): string {
  const value = env[name];
  if (value !== undefined && value !== "") return value;
  throw new AptoveError("config_invalid", `blobs.url names a bucket, and ${name} is not set in the environment`);
}
