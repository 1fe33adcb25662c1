/**
 * The repositories of a session (M7). A session about one repository names files by their paths in it. In a session about
 * several, each path begins with the name of its repository and a colon: `api:src/main.ts`. So everything that has a path,
 * such as chunks, files, rules and tools, knows which repository it is in.
 */
import { limits } from "./limits.ts";
import type { Session } from "./session.ts";

/** How the paths of a session are read. */
export interface PathNames {
  /** The names of the repositories, in the session's order. Empty: the session is not about several, and paths have no name. */
  names: readonly string[];
  /** The repository of paths without a name. Null: none. */
  home: string | null;
}

/** The paths of a session that is not about several repositories. */
export const plainPaths: PathNames = { names: [], home: null };

/** A path in its repository. */
export interface RepositoryPath {
  repo: string | null;
  path: string;
}

/** Returns the repositories of a session about several, in order. Empty: it is about one, or none. */
export function repositoryNames({ repo, otherRepos }: Pick<Session, "repo" | "otherRepos">): string[] {
  // A session whose folder was moved may have got the name of another of its repositories.
  return repo === null || otherRepos.length === 0 ? [] : [...new Set([repo, ...otherRepos])];
}

/** Returns the repository of a path, and the path in it. */
export function splitPath({ names, home }: PathNames, path: string): RepositoryPath {
  const repo = names.find((name) => path.startsWith(`${name}:`));
  return repo === undefined ? { repo: home, path } : { repo, path: path.slice(repo.length + 1) };
}

/** Returns the path as the session has it: with the name of its repository, if the session is about several. */
export function sessionPath(names: PathNames, path: string): string {
  const placed = splitPath(names, path);
  return names.names.length === 0 ? path : joinPath(placed);
}

export function joinPath({ repo, path }: RepositoryPath): string {
  return repo === null ? path : `${repo}:${path}`;
}

/** Returns why the repositories cannot be those of one session, or null if they can. */
export function repositoriesFault(names: readonly string[]): string | null {
  if (names.length > limits.repositoriesPerSessionMax) {
    return `${names.length} repositories are more than the ${limits.repositoriesPerSessionMax} of a session`;
  }
  for (const [at, name] of names.entries()) {
    const shown = JSON.stringify(name);
    if (name.trim() === "") return "the name of a repository is empty";
    // A path that begins with one letter and a colon is on a drive (X5).
    if (/^[a-zA-Z]$/.test(name)) return `the repository ${shown} has a name of one letter`;
    // Lines and fences of a message contain the name.
    if (/[\p{Cc}\u2028\u2029`]/u.test(name)) return `the repository ${shown} has a character that no path may have`;
    if (names.indexOf(name) !== at) return `the repository ${shown} is given twice`;
    // `a:b:c` would be a path in `a` and in `a:b`.
    const other = names.find((each) => each.startsWith(`${name}:`));
    if (other !== undefined) return `paths in ${shown} and in ${JSON.stringify(other)} could be mixed up`;
  }
  return null;
}
