/** Characters for properties. */
import * as fc from "fast-check";

const beforeSurrogates = 0xd800;
const surrogates = 0x800;

/**
 * Any character of Unicode, as the unit of `fc.string`. The library's own, `binary`, stands in a table of all of them in each
 * process that uses it: a second of work and more memory than most tests need.
 */
export const anyCharacter: fc.Arbitrary<string> = fc
  .nat({ max: 0x10ffff - surrogates })
  .map((place) => String.fromCodePoint(place < beforeSurrogates ? place : place + surrogates), placeOf);

/** What the library asks about a value that it did not make itself. */
function placeOf(value: unknown): number {
  const code = typeof value === "string" ? (value.codePointAt(0) ?? 0) : 0;
  if (typeof value !== "string" || value !== String.fromCodePoint(code) || !value.isWellFormed())
    throw new Error("not one character");
  return code < beforeSurrogates ? code : code - surrogates;
}
