/** Reads the version of the records of a team, for commands that must not create them. */
import { readPostgresVersion } from "../records/sql/postgres/postgres.ts";

/** Returns 0 if the database has no records yet. Throws `storage_failed` if it cannot be read. */
export async function readRecordsVersion(url: string): Promise<number> {
  return (await readPostgresVersion({ url })).version;
}
