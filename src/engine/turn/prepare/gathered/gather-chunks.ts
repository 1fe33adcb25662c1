/** Retrieves the chunks that a turn sends, compared with what this history already has (Q3–Q5, X6). */
import type { Chunk, ChunkRef } from "../../../../domain/chunk.ts";
import { AptoveError, failureOf, type Failure, type Warning } from "../../../../domain/errors.ts";
import type { AlreadySent } from "../../../../domain/lineage.ts";
import type { EngineLimits } from "../../../dependencies.ts";
import type { RetrievalScope } from "../accepted-request.ts";
import { chooseChunks, type ChunkBounds } from "./choose-chunks.ts";
import type { ChunkObstacle, FileVersions } from "./file-versions.ts";
import { bringAllUpToDate, goneWarning, staleness } from "./index-freshness.ts";
import type { SearchParts } from "./kept-search.ts";
import { searchAll } from "./search-repositories.ts";

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
    const found = await searchAll(scope, searched, { text: instruction, searches: known.searches });
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
