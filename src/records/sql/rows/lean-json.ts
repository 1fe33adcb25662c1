/**
 * JSON without the fields that say nothing. Most turns have no skipped files, no settings, no warnings: a row
 * that spells that out is half noise. A template names the fields and the value that goes without saying.
 * It is part of the stored format: a template's value may not be changed without a migration.
 */
import { isDeepStrictEqual } from "node:util";
import { isRecord } from "../../../system/guards.ts";

export interface Template {
  readonly [field: string]: unknown;
}

export function leanJson(value: object, unsaid: Template): string {
  return JSON.stringify(drop(value, unsaid));
}

/** Gives back what `leanJson` was given; the caller says of which type that was. */
export function fullJson(text: string, unsaid: Template): Record<string, unknown> {
  return fill(JSON.parse(text) as Record<string, unknown>, unsaid);
}

function drop(value: object, unsaid: Template): Record<string, unknown> {
  const said = Object.entries(value).filter(
    ([field, content]) => !(field in unsaid && isDeepStrictEqual(content, unsaid[field])),
  );
  return Object.fromEntries(
    said.map(([field, content]) => {
      const usual = unsaid[field];
      return [field, isRecord(content) && isRecord(usual) ? drop(content, usual) : content];
    }),
  );
}

function fill(kept: Record<string, unknown>, unsaid: Template): Record<string, unknown> {
  const value = { ...kept };
  for (const [field, usual] of Object.entries(unsaid)) {
    const content = value[field];
    if (content === undefined)
      value[field] = typeof usual === "object" && usual !== null ? structuredClone(usual) : usual;
    else if (isRecord(content) && isRecord(usual)) value[field] = fill(content, usual);
  }
  return value;
}
