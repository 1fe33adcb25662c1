/**
 * Gathers what the model receives beside the instruction: active files and retrieved chunks. Both are compared with
 * what this history already has (X1–X6, Q3–Q5).
 */
import { isTooLarge, type ActiveFileRef, type SkippedFile } from "../../../../domain/active-file.ts";
import { chooseChunks, type ChunkBounds } from "./choose-chunks.ts";
import type { Chunk, ChunkRef } from "../../../../domain/chunk.ts";
import { AptoveError, failureOf, type Failure, type Warning } from "../../../../domain/errors.ts";
import { limits } from "../../../../domain/limits.ts";
import type { AlreadySent, SentContext } from "../../../../domain/lineage.ts";
import { joinPath, splitPath } from "../../../../domain/repositories.ts";
import { whenAborted } from "../../../../system/abort.ts";
import type { EngineLimits } from "../../../dependencies.ts";
import type { RepositoryScope } from "../accept-repositories.ts";
import type { RetrievalScope } from "../accepted-request.ts";
import type { ContextFile } from "../../request/context-block.ts";
import type { CheckedFile } from "./check-files.ts";
import { tokensOf, waitingFiles, type FileBudget } from "./file-budget.ts";
import { keptSearch, type SearchParts, type SearchResults } from "./kept-search.ts";
import type { ChunkObstacle, FileVersions } from "./file-versions.ts";

export interface GatheredFiles {
  refs: ActiveFileRef[];
  skipped: SkippedFile[];
  warnings: Warning[];
  toSend: ContextFile[];
  /**
   * The paths of files of the request whose text the model has, from this turn or an earlier one. Chunks of them are not
   * sent (X6).
   */
  wholePaths: Set<string>;
  /** The files that wait for room in a later message (X8), without those that an earlier turn has listed in this version. */
  waiting: CheckedFile[];
}

/** Decides which files are sent (X2–X4, X8). */
export function gatherFiles(files: readonly CheckedFile[], sent: AlreadySent, budget: FileBudget): GatheredFiles {
  const unknown = files.filter(({ path, hash }) => sent.files.get(path) !== hash);
  const waiting = new Set(waitingFiles(unknown, budget));
  const gathered: GatheredFiles = {
    refs: [],
    skipped: [],
    warnings: [],
    toSend: [],
    wholePaths: new Set(),
    waiting: [...waiting].filter(({ path, hash }) => sent.noted.get(path) !== hash),
  };
  if (gathered.waiting.length > 0) gathered.warnings.push(waitingWarning(gathered.waiting, budget));
  for (const file of files) {
    if (file.isDeleted) {
      gathered.skipped.push({ path: file.path, reason: "deleted", sizeBytes: null });
      continue;
    }
    const tooLarge = file.sizeBytes !== null && isTooLarge(file.sizeBytes);
    const isKnown = sent.files.get(file.path) === file.hash;
    const isSent = !isKnown && file.text !== null && !waiting.has(file);
    gathered.refs.push({
      path: file.path,
      contentHash: file.hash,
      sizeBytes: file.sizeBytes,
      isTouched: file.isTouched,
      wasSentToLLM: isSent,
      wasTooLargeToSend: tooLarge,
    });
    if (isKnown || isSent) gathered.wholePaths.add(file.path);
    if (isSent) {
      gathered.toSend.push({
        path: file.path,
        sha256: file.hash,
        language: file.language,
        text: file.text ?? "",
      });
    } else if (!isKnown) {
      skip(gathered, file, waiting.has(file));
    }
  }
  return gathered;
}

function waitingWarning(waiting: readonly CheckedFile[], { tokensMax }: FileBudget): Warning {
  const files = waiting.length === 1 ? "1 file waits" : `${waiting.length} files wait`;
  const message = `${files}, because ${tokensMax} tokens of files fit into this message: ${namedFiles(waiting)}`;
  return { code: "active_files_waiting", message };
}

/** Names the first files, and counts the others. */
export function namedFiles(files: readonly CheckedFile[]): string {
  const named = files.slice(0, limits.waitingFilesNamedMax).map((file) => `${file.path} (${tokensOf(file)})`);
  const more = files.length - named.length;
  return more > 0 ? `${named.join(", ")} and ${more} more` : named.join(", ");
}

function skip(gathered: GatheredFiles, file: CheckedFile, isWaiting: boolean): void {
  const { path, sizeBytes } = file;
  const tooLarge = sizeBytes !== null && isTooLarge(sizeBytes);
  if (isWaiting) {
    gathered.skipped.push({ path, reason: "over_budget", sizeBytes });
    return;
  }
  gathered.skipped.push({ path, reason: tooLarge ? "too_large" : "content_missing", sizeBytes });
  gathered.warnings.push(
    tooLarge
      ? {
          code: "active_file_skipped",
          message: `${path} has ${sizeBytes} bytes and was not sent; the limit is ${limits.activeFileBytesMax}`,
        }
      : {
          code: "active_file_content_missing",
          message: `${path} was named by a hash whose content was never sent in this session; send its content`,
        },
  );
}

export function chunkBounds({ retrievalChunksMax, retrievalTokensMax }: EngineLimits): ChunkBounds {
  return {
    chunksMax: retrievalChunksMax,
    tokensMax: retrievalTokensMax,
  };
}

/** What the model already has, and how much may be sent. */
export interface KnownContext {
  sent: AlreadySent;
  versions: FileVersions;
  bounds: ChunkBounds;
  searches: SearchParts;
  /** Returns a signal that aborts after so many milliseconds. */
  deadline(ms: number): AbortSignal;
}

export interface GatheredChunks {
  refs: ChunkRef[];
  toSend: Chunk[];
  warnings: Warning[];
  /** The warnings that later turns do not repeat. */
  warned: string[];
  /** True if an earlier search had found them (Q7). */
  isKept: boolean;
  /** The commit of each index in which something was found, by its repository. Empty: it has none. */
  indexed: ReadonlyMap<string, string>;
}

const nothing: GatheredChunks = { refs: [], toSend: [], warnings: [], warned: [], isKept: false, indexed: new Map() };

/**
 * Searches the repositories for the instruction, and chooses the chunks to send. Every turn retrieves, follow-ups too (Q3).
 * If the search fails, this throws, unless retrieval is optional (Q5). One of several repositories that cannot be searched is
 * a warning, and the others are searched (M7).
 */
export async function gatherChunks(
  scope: RetrievalScope,
  instruction: string,
  known: KnownContext,
): Promise<GatheredChunks> {
  const { repo, policy, repositories } = scope;
  if (policy === "off" || repo === null || instruction.trim() === "") return nothing;
  const searched = repositories.flatMap((each) => (each.repo === null ? [] : [{ ...each, repo: each.repo }]));
  const behind = await bringAllUpToDate(scope, searched, known.deadline);
  try {
    const found = await searchAll(scope, searched, { text: instruction, known });
    const { isKept } = found;
    const candidates = found.chunks.filter(({ path }) => !scope.leftOut.some((folder) => path.startsWith(folder)));
    const stale = await Promise.all(
      found.searched
        .filter((each) => !behind.has(each.repo))
        .map(async (each) => await staleness(scope, each, found.chunks)),
    );
    const isNew = ({ once }: { once: string }): boolean => !known.sent.warned.has(once);
    const once = [...searched.flatMap(goneWarning), ...found.missing, ...stale.flatMap((one) => one ?? [])].filter(
      isNew,
    );
    const obstacles = await obstaclesOf(candidates, known.versions);
    const chosen = chooseChunks(candidates, { sent: known.sent, obstacles }, known.bounds);
    return {
      ...chosen,
      warnings: [...behind.values(), ...found.warnings, ...once.map(({ warning }) => warning)],
      warned: once.map((one) => one.once),
      isKept,
      indexed: new Map(candidates.map((chunk) => [chunk.repo, chunk.commit ?? ""])),
    };
  } catch (error) {
    const { code, message } = failureOf(error);
    const mayLack = policy === "optional" || (code === "index_missing" && scope.ifNotIndexed === "warn");
    if (mayLack) return withoutChunks({ code, message }, repo, known.sent);
    if (error instanceof AptoveError && /^(?:index_|data_newer)/.test(error.code)) throw error;
    throw new AptoveError("retrieval_failed", message, { cause: error });
  }
}

/** A warning, and the key by which later turns know that it was given. */
interface OnceWarning {
  warning: Warning;
  once: string;
}

/** The folder of a session's repository may be deleted. What its index has is found as before. */
function goneWarning({ repo, isGone }: SearchedScope): OnceWarning[] {
  const message = `the folder of ${repo} is gone or no longer a repository: its code is found as it was indexed`;
  return isGone ? [{ warning: { code: "index_behind", message }, once: `index_behind ${repo}` }] : [];
}

type SearchedScope = RepositoryScope & { repo: string };

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
async function searchAll(
  scope: RetrievalScope,
  searched: readonly SearchedScope[],
  asked: { text: string; known: KnownContext },
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

/** A repository without an index stays so until a person makes one, so one warning is enough. Another failure may be over the next time. */
function withoutChunks(
  { code, message }: Pick<Failure, "code" | "message">,
  repo: string,
  { warned }: AlreadySent,
): GatheredChunks {
  const text = `answered without retrieval: ${message}`;
  if (code !== "index_missing") return { ...nothing, warnings: [{ code: "retrieval_failed", message: text }] };
  const once = `index_missing ${repo}`;
  if (warned.has(once)) return nothing;
  return { ...nothing, warnings: [{ code: "index_missing", message: text }], warned: [once] };
}

async function obstaclesOf(
  candidates: readonly Chunk[],
  versions: FileVersions,
): Promise<ReadonlyMap<string, ChunkObstacle>> {
  const obstacles = new Map<string, ChunkObstacle>();
  for (const chunk of candidates) obstacles.set(chunk.id, await versions.obstacle(chunk));
  return obstacles;
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
  { text, known }: { text: string; known: KnownContext },
): Promise<SearchResults> {
  if (retriever === undefined) throw new AptoveError("index_missing", "no index is configured");
  const [first, ...others] = repositories.map(({ repo }) => {
    const pathPrefixes = filters.get(repo) ?? [];
    return { repo, ...(pathPrefixes.length > 0 && { pathPrefixes: [...pathPrefixes] }) };
  });
  if (first === undefined) return { chunks: [], isKept: false };
  return await keptSearch(known.searches, retriever, {
    text,
    orgId,
    ...first,
    ...(others.length > 0 && { others }),
    ...(language !== null && { language }),
    candidates: limits.retrievalCandidatesMax,
  });
}

/**
 * Brings the indexes up to date within one time, one after the other, because they may be in one file. Returns the warnings by
 * repository.
 */
async function bringAllUpToDate(
  scope: RetrievalScope,
  searched: readonly SearchedScope[],
  deadline: KnownContext["deadline"],
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
async function staleness(
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

/** Returns the chunks and files that are recorded as sent, so that later turns do not send them again (X3, Q4). */
export function sentWith(chunks: GatheredChunks, files: GatheredFiles, { repo, paths }: RetrievalScope): SentContext {
  const { indexed, warned } = chunks;
  const indexOf = (path: string): string | undefined => indexed.get(splitPath(paths, path).repo ?? repo ?? "");
  return {
    ...(warned.length > 0 && { warned }),
    chunks: chunks.toSend.map(({ id, hash, path }) => ({ id, hash, path })),
    files: files.toSend.map(({ path, sha256: hash }) => {
      const commit = indexOf(path);
      return { path, hash, ...(commit !== undefined && { indexed: commit }) };
    }),
  };
}
