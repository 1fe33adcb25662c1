/**
 * JSON without the fields that have their default value. Most turns have no skipped files, no settings, no warnings, and
 * spelling that out would fill half of each row. A template names the fields and their defaults. It is part of the stored
 * format: a default may not be changed without a migration.
 */
import { isDeepStrictEqual } from "node:util";
import { isRecord } from "../../../system/guards.ts";

export interface DefaultFields {
  readonly [field: string]: unknown;
}

export function leanJson(value: object, defaults: DefaultFields): string {
  return JSON.stringify(drop(value, defaults));
}

/** Returns the value that `leanJson` received. The caller knows its type. */
export function fullJson(text: string, defaults: DefaultFields): Record<string, unknown> {
  return fill(JSON.parse(text) as Record<string, unknown>, defaults);
}

function drop(value: object, defaults: DefaultFields): Record<string, unknown> {
  const kept = Object.entries(value).filter(
    ([field, content]) => !(field in defaults && isDeepStrictEqual(content, defaults[field])),
  );
  return Object.fromEntries(
    kept.map(([field, content]) => {
      const usual = defaults[field];
      return [field, isRecord(content) && isRecord(usual) ? drop(content, usual) : content];
    }),
  );
}

function fill(kept: Record<string, unknown>, defaults: DefaultFields): Record<string, unknown> {
  const value = { ...kept };
  for (const [field, usual] of Object.entries(defaults)) {
    const content = value[field];
    if (content === undefined)
      value[field] = typeof usual === "object" && usual !== null ? structuredClone(usual) : usual;
    else if (isRecord(content) && isRecord(usual)) value[field] = fill(content, usual);
  }
  return value;
}
