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
  // The first round trip leaves what JSON has: no undefined, no NaN, dates as text.
  const plain: unknown = JSON.parse(JSON.stringify(value));
  return JSON.stringify(sorted(plain, options.leavesOutNull === true));
}

function sorted(value: unknown, leavesOutNull: boolean): unknown {
  if (Array.isArray(value)) return value.map((item) => sorted(item, leavesOutNull));
  if (!isRecord(value)) return value;
  const fields = Object.entries(value).filter(([, content]) => !leavesOutNull || content !== null);
  const inOrder = fields.toSorted(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(inOrder.map(([name, content]) => [name, sorted(content, leavesOutNull)]));
}
