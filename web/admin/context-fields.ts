/** What differs between two versions of a context, field by field. Pure. */

export interface FieldChange {
  /** The keys that lead to the field, for example `modes.plan.instructions`. */
  field: string;
  /** Null: the version does not have the field. */
  before: string | null;
  after: string | null;
}

/** Returns the fields that differ, in the order of their names. A tool is found by its name, wherever it stands in the list. */
export function fieldChanges(before: unknown, after: unknown): FieldChange[] {
  const [left, right] = [fieldsOf(before), fieldsOf(after)];
  const names = [...new Set([...left.keys(), ...right.keys()])].toSorted();
  return names.flatMap((field) => {
    const change = { field, before: left.get(field) ?? null, after: right.get(field) ?? null };
    return change.before === change.after ? [] : [change];
  });
}

function fieldsOf(value: unknown, at = "", fields = new Map<string, string>()): Map<string, string> {
  const entries = entriesOf(value);
  if (entries !== null) for (const [key, inner] of entries) fieldsOf(inner, at === "" ? key : `${at}.${key}`, fields);
  else if (at !== "" && value !== undefined) fields.set(at, typeof value === "string" ? value : JSON.stringify(value));
  return fields;
}

/** Returns null for a value that is shown as a whole. */
function entriesOf(value: unknown): [string, unknown][] | null {
  if (typeof value !== "object" || value === null) return null;
  if (!Array.isArray(value)) return Object.keys(value).length === 0 ? null : Object.entries(value);
  const named = value.map((one: unknown) => [nameOf(one), one] as const);
  return named.length > 0 && named.every(([name]) => name !== null) ? (named as [string, unknown][]) : null;
}

function nameOf(value: unknown): string | null {
  if (typeof value !== "object" || value === null || !("name" in value)) return null;
  return typeof value.name === "string" ? value.name : null;
}
