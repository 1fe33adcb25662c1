/** The files that a person means who types a part of a path (U4). */
import { limits } from "../domain/limits.ts";

/**
 * Returns the paths that have the part, whatever its case: those whose file name begins with it first, then those whose name
 * has it, then the rest. Shorter paths come first.
 */
export function matchPaths(paths: readonly string[], part: string): string[] {
  const wanted = part.toLowerCase();
  const rank = (path: string): number => {
    const folded = path.toLowerCase();
    const name = folded.slice(folded.lastIndexOf("/") + 1);
    return name.startsWith(wanted) ? 0 : name.includes(wanted) ? 1 : folded.includes(wanted) ? 2 : 3;
  };
  return paths
    .map((path) => ({ path, rank: rank(path) }))
    .filter((found) => found.rank < 3)
    .toSorted((a, b) => a.rank - b.rank || a.path.length - b.path.length || (a.path < b.path ? -1 : 1))
    .slice(0, limits.matchedPathsMax)
    .map(({ path }) => path);
}
