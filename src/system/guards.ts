/** Checks of values whose type is not known, and of switches over a union. */

/** Returns true for an object with fields: not null, and not a list. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Returns true for a table of TOML. Its dates are objects too. */
export function isTable(value: unknown): value is Record<string, unknown> {
  return isRecord(value) && !(value instanceof Date);
}

/**
 * Ends a switch over a union. The compiler refuses the call if a member of the union has no case. A value that is in no
 * union, for example an event of a newer server, is ignored.
 */
export function ignoreUnknown(_value: never): void {}
