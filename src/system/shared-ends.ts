/**
 * How much two texts share at their beginnings and at their ends, in UTF-16 code units. Slices are compared and not characters: that is
 * one call of native code for each half, where a loop over characters is so hot that V8 compiles it with its largest compiler.
 */

/** Returns the length of the longest text with which both begin. */
export function sharedStart(a: string, b: string): number {
  return longest(Math.min(a.length, b.length), (from, to) => a.slice(from, to) === b.slice(from, to));
}

/** Returns the length of the longest text with which both end. It is at most `most`. */
export function sharedEnd(a: string, b: string, most: number = Math.min(a.length, b.length)): number {
  const at = (text: string, from: number, to: number): string => text.slice(text.length - to, text.length - from);
  return longest(most, (from, to) => at(a, from, to) === at(b, from, to));
}

/** Returns the largest length up to `most` for which everything is the same. `isSame` compares what lies between two lengths. */
function longest(most: number, isSame: (from: number, to: number) => boolean): number {
  let same = 0;
  let possible = most;
  while (same < possible) {
    const middle = Math.ceil((same + possible) / 2);
    if (isSame(same, middle)) same = middle;
    else possible = middle - 1;
  }
  return same;
}
