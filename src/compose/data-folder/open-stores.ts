/** Opens the configured stores of records and blobs, and checks that they belong together. */
import type { BlobStore } from "../../blobs/blob-store.ts";
import type { Configuration } from "../../configuration/configuration.ts";
import type { DataFolder } from "../../configuration/data-folder.ts";
import { limits } from "../../domain/limits.ts";
import type { RecordStore } from "../../records/record-store.ts";
import type { TurnStore } from "../../records/turn-store.ts";
import { blobPlace, refuseHiddenContents } from "./blob-place.ts";
import { isReadOnlyFolder, openRecordsCopy, openStoreCopy } from "./read-only-folder.ts";
import { openBlobs } from "../open-blobs.ts";
import type { AptoveOptions } from "../options.ts";
import type { Telemetry } from "../telemetry.ts";

export interface StoreSetup {
  configuration: Configuration;
  folder: DataFolder;
  env: Readonly<Record<string, string | undefined>>;
  telemetry: Telemetry;
}

export interface Stores {
  records: RecordStore;
  blobs: BlobStore;
  /** Absent: the blobs are written first, the rows last. */
  turnStore?: TurnStore;
}

/**
 * Throws `blobs_foreign` if the blobs belong to other records, `records_lost` if there is content and the records have no turn, `restore_unfinished`
 * in the middle of a restore, and `config_invalid` if the configuration contradicts what the data folder has.
 */
export async function openStores(options: AptoveOptions, setup: StoreSetup): Promise<Stores> {
  const { configuration, folder, env, telemetry } = setup;
  const isConfigured = options.records === undefined && options.blobs === undefined;
  const place = isConfigured ? blobPlace(configuration, folder) : null;
  const isMoved = (): boolean => isConfigured && blobPlace(configuration, folder) !== place;
  if (place === "database") {
    const stores = await openDatabase(folder);
    if (!isMoved()) return stores;
    await stores.records.close();
    return await openStores(options, setup);
  }
  const { checkBlobsMatchRecords, checkRecordsExist } = await import("../blobs-match-records.ts");
  if (isConfigured && configuration.records.url === null) {
    if (place !== null) await refuseHiddenContents(folder, place);
    await checkRecordsExist(folder, () => openBlobs(configuration, folder, env));
  }
  // The records come first: if a newer version wrote them, nothing else in the folder may be changed (B2).
  const records = options.records ?? (await openRecords(setup, options));
  try {
    // Opening the records waits while another process moves the blobs (move-blobs.ts).
    if (isMoved()) {
      await records.close();
      return await openStores(options, setup);
    }
    if (isConfigured && place === "files" && configuration.records.url === null)
      await refuseHiddenContents(folder, place);
    const blobs = options.blobs ?? (await openBlobs(configuration, folder, env));
    if (isConfigured) await checkBlobsMatchRecords({ records, blobs, report: telemetry.report });
    return { records, blobs };
  } catch (error) {
    if (options.records === undefined) await records.close();
    throw error;
  }
}

/** Opens records and blobs in one file. The blobs of a finished turn are part of its row, so only all of them can be lost. */
async function openDatabase(folder: DataFolder): Promise<Stores> {
  const { checkDatabaseExists, checkDatabaseHasBlobs } = await import("../blobs-match-records.ts");
  checkDatabaseExists(folder);
  const { openEmbeddedStore } = await import("../../embedded/embedded-store.ts");
  const file = folder.records;
  const stores = isReadOnlyFolder(folder) ? await openStoreCopy(file) : await openEmbeddedStore({ file });
  try {
    await checkDatabaseHasBlobs(stores);
    return stores;
  } catch (error) {
    await stores.records.close();
    throw error;
  }
}

async function openRecords(
  { configuration, folder, telemetry }: StoreSetup,
  { isCommand = false }: AptoveOptions,
): Promise<RecordStore> {
  const { metrics, report } = telemetry;
  const { url, ...settings } = configuration.records;
  if (url === null) {
    if (isReadOnlyFolder(folder)) return await openRecordsCopy(folder.records);
    const { openSqliteRecords } = await import("../../records/sql/sqlite/sqlite.ts");
    return await openSqliteRecords({ file: folder.records });
  }
  const { openPostgresRecords } = await import("../../records/sql/postgres/postgres.ts");
  const openMs = isCommand ? limits.recordsRetryMs : limits.recordsStartMs;
  const onWait = (reason: unknown): void =>
    report(`PostgreSQL does not answer yet; waiting for up to ${openMs / 1_000} s`, reason);
  const watch = metrics && { onPool: metrics.watchPool };
  return await openPostgresRecords({ ...settings, url, openMs, onWait, ...watch });
}
