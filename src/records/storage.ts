/**
 * The records' part for the store itself: what it is, and which blob store belongs to it.
 *
 * A driver stores the id of the blob store together with the records, so that every backup of the records contains it.
 */
export interface StorageRecords {
  /** Returns facts about the store that the operator sees. */
  about(): Promise<StoreAbout>;
  /** Stores the id of the blob store that belongs to these records, unless there is one. Returns the stored id. */
  claimBlobStore(id: string): Promise<string>;
  /** Returns null if no blob store was claimed yet. */
  blobStoreId(): Promise<string | null>;
  /** Returns the ids of the turns of all sessions, in their order, at most `limit` of those after `after`. */
  turnIds(page: { after: string | null; limit: number }): Promise<string[]>;
  /** Returns the room of each of these turns, in any order. An unknown turn is left out. */
  turnRoom(ids: readonly string[]): Promise<TurnRoom[]>;
  /**
   * Writes something small that no other method returns, as durably as any write. Rejects if the store cannot be written, and
   * if a database on another machine has no room for more.
   */
  probe(): Promise<void>;
  /**
   * Rejects with `records_moved` if the store knows, without a write, that its data is not where it was opened. Absent: only a write
   * shows whether the store works.
   */
  checkPlace?(): Promise<void>;
}

/** The room that a turn takes in the records, in bytes as they are stored, without columns of a fixed size and without indexes. */
export interface TurnRoom {
  turnId: string;
  /** Its row and its steps. */
  row: number;
  /** Its texts, which the search reads. */
  texts: number;
}

/** Facts about the database and its data version. A store without data versions has 0 in all three numbers. */
export interface StoreAbout {
  /** The name and version of the database, for example `PostgreSQL 15.18`. */
  product: string;
  /** The version of the data. */
  version: number;
  /** The newest version that this program knows. */
  known: number;
  /** The oldest version that a program may know and still use the data. */
  oldest: number;
}
