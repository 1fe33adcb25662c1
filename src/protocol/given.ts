/** Helpers for optional fields: requests write absent fields as null or undefined, and the domain leaves them out. */

/** Returns only the fields that are neither null nor undefined. */
export function withoutNullish<T extends object>(fields: T): { [K in keyof T]?: NonNullable<T[K]> } {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value != null)) as {
    [K in keyof T]?: NonNullable<T[K]>;
  };
}

/** Returns only the fields that are not undefined. Null is kept, because it means "none" here and not "absent". */
export function withoutUndefined<T extends object>(fields: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]?: Exclude<T[K], undefined>;
  };
}
