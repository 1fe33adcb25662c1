/**
 * Compares the versions of files (X6): what the model has, what the request sends, what the working copy has now, and what
 * the index returned. The newest version counts. A note names each file that the model has in another version.
 */
import { limits } from "../../../../domain/limits.ts";
import { historyTexts, type AlreadySent, type SentFile, type State } from "../../../../domain/lineage.ts";
import type { Chunk, ChunkRef } from "../../../../domain/chunk.ts";
import type { FileNow, WorkingCopy } from "../../../../domain/active-file.ts";
import { splitPath } from "../../../../domain/repositories.ts";
import { fileText } from "../../request/context-block.ts";
import type { FileNews } from "../../request/file-news.ts";
import type { AcceptedRequest } from "../accepted-request.ts";
import type { CheckedFile } from "./check-files.ts";

/** Why a chunk is not sent, or null if it is current and the model lacks it. */
export type ChunkObstacle = Exclude<ChunkRef["notSentBecause"], "already_sent" | undefined> | null;

export interface VersionSources {
  /** What the model has. */
  sent: AlreadySent;
  state: State;
  /** The files of the request. */
  files: readonly CheckedFile[];
  /** The paths of the request whose text the model has, from this turn or an earlier one. */
  wholePaths: ReadonlySet<string>;
  /** Returns where the request has a file. */
  placeOf(path: string): FilePlace;
}

/** A file in the working copy of its repository. */
interface FilePlace {
  /** The path in the repository. */
  path: string;
  /** The working copy. Null: it is on another machine, or unknown. */
  copy: WorkingCopy | null;
  /** The commit of the working copy. Null if the request does not name it. */
  commit: string | null;
}

export class FileVersions {
  readonly #sources: VersionSources;
  readonly #files: ReadonlyMap<string, CheckedFile>;
  readonly #news = new Map<string, FileNews>();
  readonly #looks = new Map<string, Promise<FileNow | null>>();

  constructor(sources: VersionSources) {
    this.#sources = sources;
    this.#files = new Map(sources.files.map((file) => [file.path, file]));
  }

  /** What a note has to name, in the order in which it was found. */
  get news(): FileNews[] {
    return [...this.#news.values()];
  }

  /** Compares the files of the request, and the files that the model has from earlier turns. */
  async review(): Promise<void> {
    const { sent, files, wholePaths, placeOf } = this.#sources;
    for (const { path, hash, isDeleted, renamedTo } of files) {
      if (isDeleted) this.#note({ path, hash: "", renamedTo });
      // The request has a version that is not sent. The model must not rely on the one that it has.
      else if (!wholePaths.has(path) && sent.files.has(path)) this.#note({ path, hash, renamedTo: null });
    }
    const others = [...sent.files].filter(([path]) => !this.#files.has(path) && placeOf(path).copy !== null);
    for (const [path, hash] of others.slice(-limits.reviewedFilesMax)) {
      const now = await this.#look(path);
      if (now?.hash !== hash) this.#noteVersion(path, now);
    }
  }

  /** Returns why a chunk that was found is not sent. Null: it is current, and the model does not have it in a whole file. */
  async obstacle(chunk: Chunk): Promise<ChunkObstacle> {
    const file = this.#files.get(chunk.path);
    if (file?.isDeleted === true) return "deleted";
    if (this.#sources.wholePaths.has(chunk.path)) return "active_file";
    if (file?.current != null) return file.current.includes(chunk.text) ? null : "outdated";
    const { copy } = this.#sources.placeOf(chunk.path);
    return copy === null ? this.#withoutCopy(chunk) : await this.#withCopy(chunk);
  }

  async #withCopy(chunk: Chunk): Promise<ChunkObstacle> {
    const now = await this.#look(chunk.path);
    const had = this.#sources.sent.files.get(chunk.path);
    if (had !== undefined && now?.hash !== had) this.#noteVersion(chunk.path, now);
    if (now === null) return "deleted";
    if (had !== undefined && now.hash === had) return "active_file";
    return now.text?.includes(chunk.text) === true ? null : "outdated";
  }

  /** Compares a chunk with what the model has, where the working copy cannot be read. */
  #withoutCopy(chunk: Chunk): ChunkObstacle {
    const { sent, state } = this.#sources;
    const { path } = chunk;
    const noted = sent.noted.get(path);
    if (noted === undefined) return null;
    const had = sent.files.get(path);
    if (had === undefined) return noted === "" && !this.#isNewer(chunk) ? "deleted" : null;
    const text = fileText(historyTexts(state), { path, sha256: had });
    if (text === null || text.includes(chunk.text) || !this.#isNewer(chunk)) return "active_file";
    this.#note({ path, hash: chunk.commit ?? "unknown", renamedTo: null });
    return null;
  }

  /**
   * Returns whether the index is newer than what the model knows of the file. It is if the working copy has the commit of
   * the index, because then a modified file would be active (X1). Else it is if the index was made again since then.
   */
  #isNewer({ path, commit }: Chunk): boolean {
    const { sent, placeOf } = this.#sources;
    const { commit: own } = placeOf(path);
    return own === null ? (commit ?? "") !== sent.indexed.get(path) : commit === own;
  }

  #look(sessionPath: string): Promise<FileNow | null> {
    const known = this.#looks.get(sessionPath);
    if (known !== undefined) return known;
    const { copy, path } = this.#sources.placeOf(sessionPath);
    const look = copy?.look(path) ?? Promise.resolve(null);
    this.#looks.set(sessionPath, look);
    return look;
  }

  #noteVersion(path: string, now: FileNow | null): void {
    this.#note({ path, hash: now === null ? "" : (now.hash ?? "unknown"), renamedTo: null });
  }

  #note(news: FileNews): void {
    if (this.#sources.sent.noted.get(news.path) !== news.hash) this.#news.set(news.path, news);
  }
}

/** Returns the versions of a request's files. */
export function versionsOf(
  { files, retrieval }: Pick<AcceptedRequest, "files" | "retrieval">,
  known: Pick<VersionSources, "sent" | "state" | "wholePaths">,
): FileVersions {
  const { repositories, paths } = retrieval;
  const placeOf = (sessionPath: string): FilePlace => {
    const { repo, path } = splitPath(paths, sessionPath);
    const isSeveral = paths.names.length > 0;
    const scope = isSeveral ? repositories.find((each) => each.repo === repo) : repositories[0];
    return { path, copy: scope?.workingCopy ?? null, commit: scope?.commit ?? null };
  };
  return new FileVersions({ ...known, files, placeOf });
}

/** Returns the news as they are recorded, so that later turns do not repeat them. */
export function newsSent(news: readonly Pick<FileNews, "path" | "hash">[]): SentFile[] {
  return news.map(({ path, hash }) => ({ path, hash, isNews: true }));
}
