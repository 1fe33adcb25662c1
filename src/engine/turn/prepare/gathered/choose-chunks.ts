/**
 * Chooses the chunks that the model receives (Q3): the best ones first, as many as the budget of tokens holds, several of
 * the best file and fewer of the others. So the answer is there if the best file is the right one, and probably also if
 * it is not. Nothing is sent twice in a chain (Q4), and nothing beside its whole file (X6).
 */
import type { Chunk, ChunkRef } from "../../../../domain/chunk.ts";
import { limits } from "../../../../domain/limits.ts";
import { chunkKey } from "../../../../domain/lineage.ts";
import type { ChunkObstacle } from "./file-versions.ts";

export interface ChunkChoice<C extends Chunk> {
  /**
   * The chunks that were retrieved for this turn, in the order of the candidates. `wasSent` marks those in `toSend`.
   */
  refs: ChunkRef[];
  toSend: C[];
  /** What is left of the bounds. */
  left: ChunkBounds;
}

export interface ChunkBounds {
  chunksMax: number;
  tokensMax: number;
  /** True if all chunks may be of one file, because that file is what was asked about. */
  ofOneFile?: true;
}

const defaultBounds: ChunkBounds = {
  chunksMax: limits.retrievalChunksMax,
  tokensMax: limits.retrievalTokensMax,
};

/**
 * Chooses among `candidates`, which are sorted with the best one first. A chunk that the model already has takes up its
 * place and its tokens, because it answers the question as well as a new one: otherwise each follow-up would fill the
 * budget with worse chunks. A chunk of an active file is listed and takes up neither; otherwise a question about that
 * file would leave no room for anything else. The same holds for a chunk that is not current. A chunk that does not fit
 * is left out, and a smaller one may follow.
 */
export function chooseChunks<C extends Chunk>(
  candidates: readonly C[],
  known: { sent: { chunkKeys: ReadonlySet<string> }; obstacles: ReadonlyMap<string, ChunkObstacle> },
  bounds: ChunkBounds = defaultBounds,
): ChunkChoice<C> {
  const choice: ChunkChoice<C> = { refs: [], toSend: [], left: { ...bounds } };
  const seen = new Set<string>();
  const chosenOfFile = new Map<string, number>();
  let chosen = 0;
  let tokens = 0;
  for (const chunk of candidates) {
    if (chosen >= bounds.chunksMax) break;
    if (seen.has(chunk.id)) continue;
    seen.add(chunk.id);
    const obstacle = known.obstacles.get(chunk.id) ?? null;
    if (obstacle !== null) {
      choice.refs.push({ ...refOf(chunk), wasSent: false, notSentBecause: obstacle });
      continue;
    }
    const ofFile = chosenOfFile.get(chunk.path) ?? 0;
    // The place of a file counts, not whether one of its chunks was chosen.
    chosenOfFile.set(chunk.path, ofFile);
    const isKnown = known.sent.chunkKeys.has(chunkKey(chunk));
    const cost = estimateTokens(chunk.text);
    const ofFileMax =
      bounds.ofOneFile === true ? Infinity : chunksOfFileMax([...chosenOfFile.keys()].indexOf(chunk.path));
    if (ofFile >= ofFileMax || tokens + cost > bounds.tokensMax) continue;
    chosenOfFile.set(chunk.path, ofFile + 1);
    chosen += 1;
    tokens += cost;
    if (isKnown) choice.refs.push({ ...refOf(chunk), wasSent: false, notSentBecause: "already_sent" });
    else {
      choice.refs.push({ ...refOf(chunk), wasSent: true });
      choice.toSend.push(chunk);
    }
  }
  choice.left = { chunksMax: bounds.chunksMax - chosen, tokensMax: bounds.tokensMax - tokens };
  return choice;
}

/** Returns how many chunks may be sent of the file at this place, from 0. */
export function chunksOfFileMax(place: number): number {
  if (place === 0) return limits.retrievalChunksOfBestFileMax;
  return place === 1 ? limits.retrievalChunksOfSecondFileMax : limits.retrievalChunksOfOtherFileMax;
}

/**
 * Returns the estimated number of tokens: one for four characters. That is close enough for source code with every
 * model, and the same everywhere.
 */
export function estimateTokens(text: string): number {
  return Math.ceil(text.length / 4);
}

function refOf(chunk: Chunk): Omit<ChunkRef, "wasSent"> {
  return {
    id: chunk.id,
    path: chunk.path,
    startLine: chunk.startLine,
    endLine: chunk.endLine,
    contentHash: chunk.hash,
    ...(chunk.document !== undefined && { document: chunk.document }),
  };
}
