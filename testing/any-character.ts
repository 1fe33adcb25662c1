/** Characters for property tests. */
import * as fc from "fast-check";

const beforeSurrogates = 0xd800;
const surrogates = 0x800;

/**
 * Any Unicode character, as the unit of `fc.string`. The library's own unit, `binary`, builds a table of all of them in each
 * process that uses it: that takes a second and more memory than most tests need.
 */
export const anyCharacter: fc.Arbitrary<string> = fc
  .nat({ max: 0x10ffff - surrogates })
  .map((place) => String.fromCodePoint(place < beforeSurrogates ? place : place + surrogates), placeOf);

/** Tells the library whether it can shrink a value that it did not generate. */
function placeOf(value: unknown): number {
  const code = typeof value === "string" ? (value.codePointAt(0) ?? 0) : 0;
  if (typeof value !== "string" || value !== String.fromCodePoint(code) || !value.isWellFormed())
    throw new Error("not one character");
  return code < beforeSurrogates ? code : code - surrogates;
}
