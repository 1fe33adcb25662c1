/**
 * The records' part for the store itself: what it is, and which blob store belongs to it.
 *
 * A driver stores the id of the blob store with the records, so that it is in every backup of them.
 */
export interface StorageRecords {
  /** Returns what the operator wants to know of the store. */
  about(): Promise<StoreAbout>;
  /** Stores the id of the blob store that belongs to these records, unless there is one. Returns the stored id. */
  claimBlobStore(id: string): Promise<string>;
  /** Returns null if no blob store was claimed yet. */
  blobStoreId(): Promise<string | null>;
}

/** A store without data versions has 0 in all three numbers. */
export interface StoreAbout {
  /** The name and version of the database, for example `PostgreSQL 15.18`. */
  product: string;
  /** The version of the data. */
  version: number;
  /** The newest version that this program knows. */
  known: number;
  /** Programs that know this version or a later one can use the data. */
  oldest: number;
}
