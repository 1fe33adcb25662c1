/** As literals, because an engine takes a partial index only where it reads the index's own condition. */
import { sql } from "kysely";

export const pending = sql.lit<"pending">("pending");
export const agent = sql.lit<"agent">("agent");
