/**
 * JSON without the fields that have their default value. Most turns have no skipped files, no settings, no warnings, and
 * spelling that out would fill half of each row. A template names the fields and their defaults. It is part of the stored
 * format: a default may not be changed without a migration.
 */
import { isDeepStrictEqual } from "node:util";
import { isRecord } from "../../../system/guards.ts";

type DefaultFields = Readonly<Record<string, unknown>>;

/**
 * The defaults of a value. `Stored` names the fields that every row has, because the first version stored them. The
 * compiler requires a default for each other field: the rows that exist do not have it. An optional field needs none.
 */
export type DefaultsOf<Value, Stored extends PropertyKey = never> = {
  [Field in keyof Value as Field extends Stored | OptionalField<Value> ? never : Field]: Partly<Value[Field]>;
};

type OptionalField<Value> = { [Field in keyof Value]-?: {} extends Pick<Value, Field> ? Field : never }[keyof Value];
/** A nested value whose own fields may be left out, and are then in every row. */
type Partly<Value> = Value extends readonly unknown[] ? Value : { [Field in keyof Value]?: Partly<Value[Field]> };

export function leanJson(value: object, defaults: DefaultFields): string {
  return JSON.stringify(drop(value, defaults));
}

/** Returns the value that `leanJson` received. The caller knows its type, and that every row has the fields without a default. */
export function fullJson<Value extends object>(text: string, defaults: DefaultFields): Value {
  return fill(JSON.parse(text) as Record<string, unknown>, defaults) as Value;
}

function drop(value: object, defaults: DefaultFields): Record<string, unknown> {
  // Without a prototype, so that a field named `__proto__` is one like any other.
  const kept = Object.create(null) as Record<string, unknown>;
  for (const [field, content] of Object.entries(value)) {
    const usual = defaults[field];
    if (field in defaults && isSame(content, usual)) continue;
    kept[field] = isRecord(content) && isRecord(usual) ? drop(content, usual) : content;
  }
  return kept;
}

/** Most fields are texts, numbers and empty lists, which need no deep comparison. */
function isSame(content: unknown, usual: unknown): boolean {
  if (typeof content !== "object" || typeof usual !== "object") return Object.is(content, usual);
  if (Array.isArray(content) && Array.isArray(usual) && content.length !== usual.length) return false;
  return isDeepStrictEqual(content, usual);
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
