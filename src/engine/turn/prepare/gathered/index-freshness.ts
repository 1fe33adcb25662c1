/** Brings the indexes of a session's repositories up to date before they are searched, and says what they are behind (Q2, M7). */
import type { Chunk } from "../../../../domain/chunk.ts";
import { failureOf, type Warning } from "../../../../domain/errors.ts";
import { limits } from "../../../../domain/limits.ts";
import { whenAborted } from "../../../../system/abort.ts";
import type { RepositoryScope } from "../accept-repositories.ts";
import type { RetrievalScope } from "../accepted-request.ts";

/** A repository that is searched. */
export type SearchedScope = RepositoryScope & { repo: string };

/** A warning, and the key by which later turns know that it was given. */
export interface OnceWarning {
  warning: Warning;
  once: string;
}

/**
 * Brings the indexes up to date within one time, one after the other, because they may be in one file. Returns the warnings by
 * repository.
 */
export async function bringAllUpToDate(
  scope: RetrievalScope,
  searched: readonly SearchedScope[],
  deadline: (ms: number) => AbortSignal,
): Promise<Map<string, Warning>> {
  const behind = new Map<string, Warning>();
  let signal: AbortSignal | null = null;
  const over = (): AbortSignal => (signal ??= deadline(limits.indexRefreshMsMax));
  for (const each of searched) {
    const warning = await bringUpToDate(scope, each, over);
    if (warning !== null) behind.set(each.repo, warning);
  }
  return behind;
}

/**
 * Brings the index up to date with the working copy (Q2). Returns a warning if it is not, so that the question is answered with
 * the index as it was.
 */
async function bringUpToDate(
  { retriever, orgId }: RetrievalScope,
  { repo, workingCopy }: SearchedScope,
  over: () => AbortSignal,
): Promise<Warning | null> {
  const root = workingCopy?.root;
  if (retriever?.refresh === undefined || root === undefined) return null;
  const refreshed = retriever.refresh({ root, orgId, repo }).catch((error: unknown) => failureOf(error));
  const late = whenAborted(over()).then(() => "busy" as const);
  const outcome = await Promise.race([refreshed, late]);
  if (outcome === "current" || outcome === "missing") return null;
  const message =
    outcome === "busy"
      ? `the index of ${repo} is being brought up to date; this question used it as it was before`
      : `the index of ${repo} could not be brought up to date: ${outcome.message}`;
  return { code: "index_behind", message };
}

/** Warns if the index was made at another commit than the caller's. Every chunk names that commit; the index is asked only if none was found. */
export async function staleness(
  { retriever, orgId }: RetrievalScope,
  { repo, commit }: SearchedScope,
  chunks: readonly Chunk[],
): Promise<OnceWarning | null> {
  if (commit === null) return null;
  const found = chunks.find((chunk) => chunk.repo === repo);
  const index = found ?? (await retriever?.list(orgId))?.find((each) => each.repo === repo);
  if (index === undefined || index.commit === commit) return null;
  const then = index.commit === null ? "before the first commit" : `at commit ${shortCommit(index.commit)}`;
  const message =
    `the index of ${repo} was made ${then}, and the working copy is at ${shortCommit(commit)}: ` +
    "code that changed in between is found as it was; run `aptove index`";
  return { warning: { code: "index_stale", message }, once: `index_stale ${repo} ${index.commit ?? ""}` };
}

function shortCommit(commit: string): string {
  return commit.slice(0, 10);
}

/** The folder of a session's repository may be deleted. What its index has is found as before. */
export function goneWarning({ repo, isGone }: SearchedScope): OnceWarning[] {
  const message = `the folder of ${repo} is gone or no longer a repository: its code is found as it was indexed`;
  return isGone ? [{ warning: { code: "index_behind", message }, once: `index_behind ${repo}` }] : [];
}
