/** A fault that someone could make, as an edit of one source file, and the tests that must notice it. */
export interface Mutant {
  name: string;
  /** What the program does with the fault, in one sentence. */
  does: string;
  file: string;
  /** A text that the file has exactly once. */
  find: string;
  replace: string;
  /** The test files that must notice the fault. They run together, and nothing else does. */
  tests: string[];
}

/** Returns why the edit does not apply to the file. Null if it applies. */
export function staleness({ name, file, find }: Mutant, source: string): string | null {
  const count = source.split(find).length - 1;
  if (count === 1) return null;
  const found = count === 0 ? "no longer has the text" : `has ${count} times the text`;
  return `${name}: ${file} ${found} ${JSON.stringify(find)}`;
}

/** Returns the file with the fault. */
export function mutated({ find, replace }: Mutant, source: string): string {
  return source.replace(find, () => replace);
}
