/**
 * The repositories of a turn (M7): those of its session, which are chosen when it begins, with the working copies and commits
 * that the request names. Folders of this machine are taken as they are for one repository.
 */
import { isAbsolute } from "node:path";
import type { WorkingCopy } from "../../../domain/active-file.ts";
import { runsTheServer, type Caller } from "../../../domain/caller.ts";
import { AptoveError } from "../../../domain/errors.ts";
import { plainPaths, repositoriesFault, repositoryNames, type PathNames } from "../../../domain/repositories.ts";
import { folderKey, type Session } from "../../../domain/session.ts";
import type { IndexInfo, Retriever } from "../../../retrieval/retriever.ts";
import type { EngineDependencies } from "../../dependencies.ts";
import type { OtherRepository, TurnRequest } from "../../engine.ts";

interface RepositoriesInput {
  caller: Caller;
  request: TurnRequest;
  /** The session that the turn continues or is forked from. */
  session: Session | null;
}

/** A repository of the turn, and what is known of the caller's working copy of it. */
export interface RepositoryScope {
  /** Null: nothing is searched. */
  repo: string | null;
  /** The commit of the caller's working copy. Null if the caller did not give it. */
  commit: string | null;
  /** The caller's working copy. Null: it is on another machine, or the caller did not name it. */
  workingCopy: WorkingCopy | null;
  /** True if the index was made from a folder of this machine that is gone. */
  isGone: boolean;
}

export interface AcceptedRepositories {
  paths: PathNames;
  /** The folder of this machine with each repository's working copy, by its name. The name of no repository is empty. */
  folders: ReadonlyMap<string, string>;
  /** All repositories, in the session's order. */
  repositories: readonly RepositoryScope[];
}

/** Returns the repositories of a turn. Throws `request_invalid`. */
export async function acceptRepositories(
  deps: EngineDependencies,
  asked: RepositoriesInput,
  retriever: Retriever | undefined,
): Promise<AcceptedRepositories> {
  const { request, session } = asked;
  const paths = pathNames(asked);
  const home = request.repo === undefined ? (session?.repo ?? null) : request.repo;
  const known = await ownIndexes(asked, retriever, paths);
  const others = new Map((request.otherRepos ?? []).map((other) => [other.repo, other]));
  const folders = new Map<string, string>();
  const scopeOf = (repo: string | null): RepositoryScope => {
    const isHome = repo === (paths.home ?? home);
    const { commit = null, workingCopy } = (isHome ? request : others.get(repo ?? "")) ?? {};
    const index = known?.find((each) => each.repo === repo);
    const folder = folderOf({ workingCopy, started: isHome ? startFolder(session) : undefined, index });
    if (folder !== null) folders.set(repo ?? "", folder);
    const copy = typeof workingCopy === "object" ? workingCopy : folder === null ? null : deps.workingCopy?.(folder);
    const isGone = paths.names.length > 0 && folder !== null && copy === null && workingCopy === undefined;
    return { repo, commit, workingCopy: copy ?? null, isGone };
  };
  const repositories = paths.names.length === 0 ? [scopeOf(home)] : paths.names.map(scopeOf);
  return { paths, folders, repositories };
}

/** Returns how the paths of the turn are read. Throws `request_invalid` if the request names other repositories than its session has. */
function pathNames({ request, session }: RepositoriesInput): PathNames {
  const others = (request.otherRepos ?? []).map(({ repo }) => repo);
  const kept = session === null ? [] : repositoryNames(session);
  const isStart = session === null || (request.fork !== undefined && others.length > 0);
  const first = request.repo ?? session?.repo ?? null;
  if (isStart && others.length > 0) {
    if (first === null) throw refused("otherRepos needs a repo, which is the first of the session");
    const fault = repositoriesFault([first, ...others]);
    if (fault !== null) throw refused(fault);
    return { names: [first, ...others], home: first };
  }
  const [firstKept] = kept;
  const named = [...others, ...(kept.length > 0 && request.repo != null ? [request.repo] : [])];
  const unknown = named.find((repo) => !kept.includes(repo));
  if (unknown !== undefined) {
    const about = kept.length > 0 ? kept : [session?.repo ?? "no repository"];
    throw refused(
      `the session is about ${about.join(", ")}, and not about ${unknown}: its repositories are chosen when it begins`,
    );
  }
  const fault = repositoriesFault(named);
  if (fault !== null) throw refused(fault);
  return firstKept === undefined ? plainPaths : { names: kept, home: request.repo ?? firstKept };
}

function refused(detail: string): AptoveError {
  return new AptoveError("request_invalid", detail);
}

function startFolder(session: Session | null): string | null {
  const folder = session?.metadata[folderKey];
  return typeof folder === "string" ? folder : null;
}

/**
 * Returns the indexes, if the request leaves a folder to be found by them. Null: it does not, or the caller may not choose folders of
 * this machine, which only the people who run the server may.
 */
async function ownIndexes(
  { caller, request, session }: RepositoriesInput,
  retriever: Retriever | undefined,
  { names }: PathNames,
): Promise<IndexInfo[] | null> {
  const isAsked = names.length > 0 || (request.workingCopy === undefined && startFolder(session) !== null);
  if (!isAsked || !runsTheServer(caller) || retriever?.refresh === undefined) return null;
  return await retriever.list(caller.orgId);
}

interface FolderSources {
  workingCopy: OtherRepository["workingCopy"];
  /** The folder in which the session was started. Undefined: it is a folder of another repository. */
  started: string | null | undefined;
  /** The index of the repository on this machine. */
  index: IndexInfo | undefined;
}

/**
 * Returns the folder that the request names. Without one, it is the folder in which the session was started, if the index was made
 * from it, and for the session's other repositories the folder that the index was made from.
 */
function folderOf({ workingCopy, started, index }: FolderSources): string | null {
  if (workingCopy !== undefined) return typeof workingCopy === "string" && isAbsolute(workingCopy) ? workingCopy : null;
  if (index === undefined) return null;
  return started === undefined || started === index.root ? index.root : null;
}
