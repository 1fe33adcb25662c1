/** How SQLite writes the parameters of plain texts. */
import type { Placeholders } from "../plain/plain-sql.ts";

/**
 * The plus changes no value. SQLite prepares some statements again before every run if a value in them stands alone: those with a
 * join, an order or a partial index, because the value could suit another plan (`sqlite3Reprepare`, 3 to 80 µs). A condition of a
 * partial index must therefore stand in the text.
 */
export const sqlite: Placeholders = { placeholder: () => "+?" };
