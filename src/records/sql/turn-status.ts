/** Statuses as SQL literals, because an engine uses a partial index only if the query contains the index's own condition. */
import { sql } from "kysely";

export const pending = sql.lit<"pending">("pending");
export const agent = sql.lit<"agent">("agent");
