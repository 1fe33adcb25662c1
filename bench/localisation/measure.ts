/** Asks the questions of one repository, each on its own tree, and compares what was found and sent with what was changed. */
import { cpSync, existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { chooseChunks, estimateTokens } from "../../src/engine/turn/prepare/gathered/choose-chunks.ts";
import { limits } from "../../src/domain/limits.ts";
import { lexicalEmbedder } from "../../src/retrieval/lexical-embedding.ts";
import { formatVersion } from "../../src/retrieval/local/index-file.ts";
import { openLocalRetriever } from "../../src/retrieval/local/local-retriever.ts";
import type { RetrievedChunk } from "../../src/retrieval/retriever.ts";
import type { ChangeKind, LocalisationCase } from "./case.ts";
import { FileBm25 } from "./file-bm25.ts";

/** What became of one question. It holds no text, so that it can be kept and compared. */
export interface CaseOutcome {
  id: string;
  repository: string;
  kind: ChangeKind;
  /** The rank of the first file that was to be found, from 1. Null: it was not found. */
  rank: number | null;
  /** The same by plain BM25 over files. Undefined: it was not asked. */
  plainRank?: number | null;
  sentFile: boolean;
  sentLine: boolean;
  tokens: number;
  /** The tokens of files that the change did not touch. */
  uselessTokens: number;
  /** The paths that were found, best first. */
  found: string[];
  gold: string[];
  milliseconds: number;
}

export interface MeasureOptions {
  folder: string;
  cases: readonly LocalisationCase[];
  withPlain: boolean;
  /** A folder that keeps the index of each tree, so that the next run only asks. Null: nothing is kept. */
  indexes: string | null;
  onCase?: (done: number) => void;
}

/** The cases must be sorted so that neighbouring trees differ little: an index takes over what is the same. */
export async function measureRepository(options: MeasureOptions): Promise<CaseOutcome[]> {
  const repository = basename(options.folder);
  const work = mkdtempSync(join(tmpdir(), "aptove-localisation-"));
  const plain = options.withPlain ? new FileBm25() : null;
  const outcomes: CaseOutcome[] = [];
  try {
    for (const each of options.cases) {
      const folder = await indexOf(each, options, work);
      const retriever = await openLocalRetriever({ folder, embedder: lexicalEmbedder() });
      try {
        const start = performance.now();
        const found = await retriever.search({ ...query(each.question), repo: repository });
        const milliseconds = performance.now() - start;
        const ranked = await plain?.rank(options.folder, each.commit, each.question);
        outcomes.push({
          ...{ id: each.id, repository, kind: each.kind, milliseconds },
          ...compare(each, found),
          ...(ranked !== undefined && { plainRank: rankOf(each, ranked) }),
        });
      } finally {
        await retriever.close();
      }
      options.onCase?.(outcomes.length);
    }
    return outcomes;
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

function query(text: string) {
  return { text, orgId: "org", candidates: limits.retrievalCandidatesMax };
}

/** Returns the folder of the index of the case's tree. */
async function indexOf(each: LocalisationCase, { folder, indexes }: MeasureOptions, work: string): Promise<string> {
  const repo = basename(folder);
  const kept = indexes === null ? null : join(indexes, `v${formatVersion}`, repo, each.commit);
  if (kept !== null && existsSync(kept)) return kept;
  const retriever = await openLocalRetriever({ folder: work, embedder: lexicalEmbedder() });
  try {
    await retriever.index({ root: folder, orgId: "org", repo, commit: each.commit });
  } finally {
    await retriever.close();
  }
  if (kept === null) return work;
  mkdirSync(join(kept, ".."), { recursive: true });
  cpSync(work, `${kept}.part`, { recursive: true });
  renameSync(`${kept}.part`, kept);
  return kept;
}

function compare(each: LocalisationCase, candidates: readonly RetrievedChunk[]) {
  const { toSend } = chooseChunks(candidates, { sent: { chunkKeys: new Set() }, obstacles: new Map() });
  const found = [...new Set(candidates.map(({ path }) => path))];
  const tokensOf = (chunks: readonly RetrievedChunk[]): number =>
    chunks.reduce((sum, { text }) => sum + estimateTokens(text), 0);
  return {
    rank: rankOf(each, found),
    sentFile: toSend.some(({ path }) => each.gold.some((file) => file.path === path)),
    sentLine: toSend.some((chunk) => hasChangedLine(each, chunk)),
    tokens: tokensOf(toSend),
    uselessTokens: tokensOf(toSend.filter(({ path }) => !each.touched.includes(path))),
    found,
    gold: each.gold.map(({ path }) => path),
  };
}

function rankOf({ gold }: LocalisationCase, paths: readonly string[]): number | null {
  const at = paths.findIndex((path) => gold.some((file) => file.path === path));
  return at === -1 ? null : at + 1;
}

function hasChangedLine({ gold }: LocalisationCase, { path, startLine, endLine }: RetrievedChunk): boolean {
  const file = gold.find((each) => each.path === path);
  return file?.lines.some(([from, to]) => from <= endLine && to >= startLine) ?? false;
}
