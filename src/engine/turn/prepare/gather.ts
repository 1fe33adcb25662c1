/**
 * What the model is given beside the instruction: active files and retrieved chunks, each held against what
 * this history already holds (X1–X6, Q3–Q5).
 */
import {
  decodeText,
  isTooLarge,
  pathFault,
  type ActiveFile,
  type ActiveFileRef,
  type SkippedFile,
} from "../../../domain/active-file.ts";
import { chooseChunks, type ChunkBounds } from "./choose-chunks.ts";
import type { Chunk, ChunkRef } from "../../../domain/chunk.ts";
import { AptoveError, failureOf, type Warning } from "../../../domain/errors.ts";
import { sha256 } from "../../../domain/ids.ts";
import { languageOf } from "../../../domain/language.ts";
import { limits } from "../../../domain/limits.ts";
import type { AlreadySent } from "../../../domain/lineage.ts";
import type { Retriever } from "../../../retrieval/retriever.ts";
import type { EngineLimits } from "../../dependencies.ts";
import type { AcceptedRequest } from "./accepted-request.ts";
import type { ContextFile } from "../request/context-block.ts";

/** An active file whose form was checked; the hash is of the raw bytes (X3). */
export interface CheckedFile {
  path: string;
  hash: string;
  sizeBytes: number | null;
  isTouched: boolean;
  /** Null: the caller named the file by hash, or it is too large to send. */
  text: string | null;
}

/** X5 and the form of X4: refuses paths and bytes that cannot be taken, each with the path named. */
export function checkFiles(files: readonly ActiveFile[]): CheckedFile[] {
  if (files.length > limits.activeFilesPerTurnMax) {
    throw refused(`${files.length} files are more than the ${limits.activeFilesPerTurnMax} allowed`, null);
  }
  const paths = new Set<string>();
  return files.map((file) => {
    const fault = pathFault(file.path);
    if (fault !== null) throw refused(`the path ${JSON.stringify(file.path)} ${fault}`, file.path);
    if (paths.has(file.path)) throw refused(`"${file.path}" is given twice`, file.path);
    paths.add(file.path);
    return checkFile(file);
  });
}

function checkFile(file: ActiveFile): CheckedFile {
  const facts = { path: file.path, isTouched: file.isTouched };
  if (file.content === null) {
    if (!/^[0-9a-f]{64}$/.test(file.sha256 ?? "")) {
      throw refused(`"${file.path}" has neither content nor a SHA-256`, file.path);
    }
    return { ...facts, hash: file.sha256 ?? "", sizeBytes: null, text: null };
  }
  const hash = sha256(file.content);
  if (file.sha256 !== null && file.sha256 !== hash) {
    throw refused(`the content of "${file.path}" does not have the given SHA-256`, file.path);
  }
  const text = decodeText(file.content);
  if (text === null) throw refused(`"${file.path}" is not UTF-8 text`, file.path);
  const sizeBytes = file.content.byteLength;
  return { ...facts, hash, sizeBytes, text: isTooLarge(sizeBytes) ? null : text };
}

function refused(detail: string, path: string | null): AptoveError {
  return new AptoveError("active_file_invalid", detail, { facts: path === null ? {} : { path } });
}

export interface GatheredFiles {
  refs: ActiveFileRef[];
  skipped: SkippedFile[];
  warnings: Warning[];
  toSend: ContextFile[];
  /** Paths whose text the model has, now or from before: chunks of them are not sent beside (X6). */
  activePaths: Set<string>;
}

/** Which files are sent (X2–X4). */
export function gatherFiles(files: readonly CheckedFile[], sent: AlreadySent): GatheredFiles {
  const gathered: GatheredFiles = {
    refs: [],
    skipped: [],
    warnings: [],
    toSend: [],
    activePaths: new Set(sent.files.keys()),
  };
  for (const file of files) {
    const tooLarge = file.sizeBytes !== null && isTooLarge(file.sizeBytes);
    const isKnown = sent.files.get(file.path) === file.hash;
    const isSent = !isKnown && file.text !== null;
    gathered.refs.push({
      path: file.path,
      contentHash: file.hash,
      sizeBytes: file.sizeBytes,
      isTouched: file.isTouched,
      wasSentToLLM: isSent,
      wasTooLargeToSend: tooLarge,
    });
    if (isKnown || isSent) gathered.activePaths.add(file.path);
    if (isSent) {
      gathered.toSend.push({
        path: file.path,
        sha256: file.hash,
        language: languageOf(file.path),
        text: file.text ?? "",
      });
    } else if (!isKnown) {
      skip(gathered, file, tooLarge);
    }
  }
  return gathered;
}

function skip(gathered: GatheredFiles, file: CheckedFile, tooLarge: boolean): void {
  const { path, sizeBytes } = file;
  gathered.skipped.push({ path, reason: tooLarge ? "too_large" : "content_missing", sizeBytes });
  gathered.warnings.push(
    tooLarge
      ? {
          code: "active_file_skipped",
          message: `${path} has ${sizeBytes} bytes and was not sent; the limit is ${limits.activeFileBytesMax}`,
        }
      : {
          code: "active_file_content_missing",
          message: `${path} was named by a hash that was never sent in this session; send its content`,
        },
  );
}

export function chunkBounds({ retrievalChunksMax, retrievalTokensMax }: EngineLimits): ChunkBounds {
  return {
    chunksMax: retrievalChunksMax,
    chunksPerFileMax: limits.retrievalChunksPerFileMax,
    tokensMax: retrievalTokensMax,
  };
}

/** What the accepted request says of retrieval: who asks, what for, and where. */
export type RetrievalRequest = Pick<
  AcceptedRequest,
  | "retriever"
  | "conversationContext"
  | "instruction"
  | "caller"
  | "repo"
  | "commit"
  | "ifNotIndexed"
  | "language"
  | "pathPrefixes"
>;

/** What the chunks are held against. */
export interface KnownContext {
  sent: AlreadySent;
  activePaths: ReadonlySet<string>;
  bounds: ChunkBounds;
}

export interface GatheredChunks {
  refs: ChunkRef[];
  toSend: Chunk[];
  warnings: Warning[];
}

const nothing: GatheredChunks = { refs: [], toSend: [], warnings: [] };

/** Every turn retrieves, follow-ups too (Q3). A failure fails the turn unless retrieval is optional (Q5). */
export async function gatherChunks(request: RetrievalRequest, known: KnownContext): Promise<GatheredChunks> {
  const policy = request.conversationContext.retrieval;
  if (policy === "off" || request.repo === null || request.instruction.trim() === "") return nothing;
  try {
    const candidates = await search(request, request.repo);
    const warnings = await staleness(request, request.repo, candidates);
    return { ...chooseChunks(candidates, known, known.bounds), warnings };
  } catch (error) {
    const { code, message } = failureOf(error);
    const mayLack = policy === "optional" || (code === "index_missing" && request.ifNotIndexed === "warn");
    if (mayLack) {
      const warning = code === "index_missing" ? "index_missing" : "retrieval_failed";
      return { ...nothing, warnings: [{ code: warning, message: `answered without retrieval: ${message}` }] };
    }
    if (error instanceof AptoveError && error.code.startsWith("index_")) throw error;
    throw new AptoveError("retrieval_failed", message, { cause: error });
  }
}

async function search(request: RetrievalRequest, repo: string): ReturnType<Retriever["search"]> {
  if (request.retriever === undefined) throw new AptoveError("index_missing", "no index is configured");
  return await request.retriever.search({
    text: request.instruction,
    orgId: request.caller.orgId,
    repo,
    ...(request.language !== null && { language: request.language }),
    ...(request.pathPrefixes.length > 0 && { pathPrefixes: [...request.pathPrefixes] }),
    candidates: limits.retrievalCandidatesMax,
  });
}

/** Every finding names the commit of its index; only where nothing was found has the index to be asked for it. */
async function staleness(
  { commit, retriever, caller }: RetrievalRequest,
  repo: string,
  [found]: readonly Chunk[],
): Promise<Warning[]> {
  if (commit === null) return [];
  const index = found ?? (await retriever?.list(caller.orgId))?.find((each) => each.repo === repo);
  if (index === undefined || index.commit === commit) return [];
  const then = index.commit === null ? "before the first commit" : `at commit ${shortCommit(index.commit)}`;
  const message =
    `the index of ${repo} was made ${then}, and the working copy is at ${shortCommit(commit)}: ` +
    "code that changed in between is found as it was; run `aptove index`";
  return [{ code: "index_stale", message }];
}

function shortCommit(commit: string): string {
  return commit.slice(0, 10);
}
