/** Searches the repositories of a session as one (Q3, M7). */
import { AptoveError, failureOf, type Warning } from "../../../../domain/errors.ts";
import { limits } from "../../../../domain/limits.ts";
import { joinPath, splitPath } from "../../../../domain/repositories.ts";
import type { RetrievalScope } from "../accepted-request.ts";
import type { OnceWarning, SearchedScope } from "./index-freshness.ts";
import { keptSearch, type SearchParts, type SearchResults } from "./kept-search.ts";

interface Question {
  text: string;
  searches: SearchParts;
}

interface FoundChunks extends SearchResults {
  /** The repositories that could be searched. */
  searched: readonly SearchedScope[];
  /** The warnings about the others. Those that stay true are in `missing`. */
  warnings: Warning[];
  missing: OnceWarning[];
}

/**
 * Searches all repositories at once. One that cannot be searched is left out, as long as another one is left. The chunks have the
 * paths of the session.
 */
export async function searchAll(
  scope: RetrievalScope,
  searched: readonly SearchedScope[],
  asked: Question,
): Promise<FoundChunks> {
  const isSeveral = scope.paths.names.length > 0;
  const filters = filtersOf(scope, searched);
  try {
    const within = searched.filter(({ repo }) => filters.has(repo));
    const { chunks, isKept } = await search(scope, { repositories: within, filters }, asked);
    const inSession = chunks.map((chunk) => ({ ...chunk, path: joinPath(chunk) }));
    return { chunks: isSeveral ? inSession : chunks, isKept, searched: within, warnings: [], missing: [] };
  } catch (error) {
    const cause = error instanceof AptoveError ? error : null;
    const others = searched.filter(({ repo }) => repo !== cause?.facts["repo"]);
    if (cause === null || others.length === searched.length || others.length === 0) throw error;
    const found = await searchAll(scope, others, asked).catch((later: unknown) => {
      // If none has an index, the first one's error says what to do.
      throw failureOf(later).code === "index_missing" ? error : later;
    });
    const repo = String(cause.facts["repo"]);
    const message = `answered without the code of ${repo}: ${cause.detail}`;
    if (cause.code !== "index_missing") {
      return { ...found, warnings: [{ code: "retrieval_failed", message }, ...found.warnings] };
    }
    const missing = { warning: { code: "index_missing" as const, message }, once: `index_missing ${repo}` };
    return { ...found, missing: [missing, ...found.missing] };
  }
}

/**
 * Returns the path filter of each repository, by its name. A path with the name of a repository is one of it alone; if there are only
 * such paths, the repositories without one are not searched.
 */
function filtersOf(
  { pathPrefixes, paths }: RetrievalScope,
  searched: readonly SearchedScope[],
): ReadonlyMap<string, string[]> {
  const isSeveral = paths.names.length > 0;
  const placed = pathPrefixes.map((path) => splitPath({ ...paths, home: null }, path));
  const filters = searched.map(({ repo }): [string, string[]] => [
    repo,
    isSeveral
      ? placed.filter((each) => each.repo === null || each.repo === repo).map(({ path }) => path)
      : pathPrefixes,
  ]);
  return new Map(filters.filter(([, filter]) => pathPrefixes.length === 0 || filter.length > 0));
}

async function search(
  { retriever, orgId, language }: RetrievalScope,
  { repositories, filters }: { repositories: readonly SearchedScope[]; filters: ReadonlyMap<string, string[]> },
  { text, searches }: Question,
): Promise<SearchResults> {
  if (retriever === undefined) throw new AptoveError("index_missing", "no index is configured");
  const [first, ...others] = repositories.map(({ repo }) => {
    const pathPrefixes = filters.get(repo) ?? [];
    return { repo, ...(pathPrefixes.length > 0 && { pathPrefixes: [...pathPrefixes] }) };
  });
  if (first === undefined) return { chunks: [], isKept: false };
  return await keptSearch(searches, retriever, {
    text,
    orgId,
    ...first,
    ...(others.length > 0 && { others }),
    ...(language !== null && { language }),
    candidates: limits.retrievalCandidatesMax,
  });
}
