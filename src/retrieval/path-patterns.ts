/** Patterns of paths as `.gitignore` and `.gitattributes` write them. */

export interface PathPattern {
  /** The folder of the file that has the pattern, with a slash at its end; empty for the top. */
  base: string;
  matches(path: string): boolean;
}

/** Reads a pattern. Null: the line says nothing. A folder's pattern matches everything in the folder. */
export function pathPattern(line: string, base = ""): PathPattern | null {
  const text = line.replace(/^\\(?=[#!])/, "");
  const isFolder = text.endsWith("/");
  const bare = text.replace(/\/$/, "");
  if (bare === "") return null;
  // A slash at the beginning or in the middle binds the pattern to the folder of its file.
  const isBound = bare.includes("/");
  const source = `^${isBound ? "" : "(?:.*/)?"}${globSource(bare.replace(/^\//, ""))}${isFolder ? "/" : "(?:/|$)"}`;
  const expression = new RegExp(source, "u");
  return { base, matches: (path) => path.startsWith(base) && expression.test(path.slice(base.length)) };
}

function globSource(glob: string): string {
  return glob.replace(/\*\*\/|\/\*\*$|\*+|\?|\[!?[^\]/]+\]|[^*?[]|\[/gu, (part) => {
    if (part === "**/") return "(?:.*/)?";
    if (part === "/**") return "/.*";
    if (part.startsWith("*")) return "[^/]*";
    if (part === "?") return "[^/]";
    if (part.length > 1 && part.startsWith("["))
      return `[${part.slice(1, -1).replace(/^!/, "^").replace(/[\\[]/g, "\\$&")}]`;
    return part.replace(/[\\^$.*+?()[\]{}|/]/u, "\\$&");
  });
}

/** Rules of which the last one that matches a path counts, as in git. */
export class PathRules<T> {
  readonly #rules: { pattern: PathPattern; says: T }[] = [];

  add(pattern: PathPattern | null, says: T): void {
    if (pattern !== null) this.#rules.push({ pattern, says });
  }

  /** Returns what the last matching rule says, or null if none matches. */
  of(path: string): T | null {
    return this.#rules.findLast(({ pattern }) => pattern.matches(path))?.says ?? null;
  }
}
