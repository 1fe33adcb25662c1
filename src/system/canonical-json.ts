/** JSON in one form, for digests and hashes. */
import { isRecord } from "./guards.ts";

/**
 * Returns JSON that does not depend on the order in which an object got its fields: they are sorted at every level.
 * `leavesOutNull` leaves out the fields that are null; the items of a list stay.
 *
 * This is not RFC 8785, and the package `canonicalize` must not replace it. JavaScript puts keys such as "10" and "2"
 * first and in the order of numbers, and RFC 8785 sorts them as texts. Such keys occur: a client names the fields of a
 * context as it likes. The package (4.0.0) also throws for half a character, which the text of a model can hold, and for
 * NaN. Digests and hashes that are stored would no longer hold.
 */
export function canonicalJson(value: object, options: { leavesOutNull?: boolean } = {}): string {
  // The round trip leaves what JSON has: no undefined, no NaN, dates as text.
  const plain: unknown = JSON.parse(JSON.stringify(value));
  return canonicalText(plain, options.leavesOutNull === true);
}

/** Writes the text at once: a sorted copy of every object would cost more than everything else of a digest. */
function canonicalText(value: unknown, leavesOutNull: boolean): string {
  if (Array.isArray(value)) return `[${value.map((item) => canonicalText(item, leavesOutNull)).join(",")}]`;
  if (!isRecord(value)) return JSON.stringify(value);
  let text = "";
  for (const name of inOrder(Object.keys(value))) {
    const content = value[name];
    if (leavesOutNull && content === null) continue;
    text += `${text === "" ? "" : ","}${JSON.stringify(name)}:${canonicalText(content, leavesOutNull)}`;
  }
  return `{${text}}`;
}

/** Sorts names as JavaScript keeps the fields of an object that got them sorted: those that are numbers come first. */
function inOrder(names: string[]): string[] {
  names.sort();
  const mayBeNumber = names.some((name) => name >= "0" && name < ":");
  return mayBeNumber ? Object.keys(Object.fromEntries(names.map((name) => [name, null]))) : names;
}
