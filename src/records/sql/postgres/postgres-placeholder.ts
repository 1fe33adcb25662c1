import type { Placeholders } from "../plain/plain-sql.ts";

/** How PostgreSQL writes parameters. */
export const postgres: Placeholders = { placeholder: (number) => `$${number}` };
