/** How SQLite writes the parameters of plain texts. */
import type { Placeholders } from "../plain/plain-sql.ts";

export const sqlite: Placeholders = { placeholder: () => "?" };
