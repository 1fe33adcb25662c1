/** Checks of values whose type is not known. */

/** Returns true for an object with fields: not null, and not a list. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Returns true for a table of TOML. Its dates are objects too. */
export function isTable(value: unknown): value is Record<string, unknown> {
  return isRecord(value) && !(value instanceof Date);
}
