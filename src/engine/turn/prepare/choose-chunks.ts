/**
 * From what retrieval found to what the model gets (Q3): the best first, at most so many, within a budget of
 * tokens, not all from one file; nothing twice in a chain (Q4), and nothing beside the whole file (X6).
 */
import type { Chunk, ChunkRef } from "../../../domain/chunk.ts";
import { limits } from "../../../domain/limits.ts";
import { chunkKey } from "../../../domain/lineage.ts";

export interface ChunkChoice<C extends Chunk> {
  /** What was retrieved for this turn, in the order of the candidates; `wasSent` marks those in `toSend`. */
  refs: ChunkRef[];
  toSend: C[];
}

export interface ChunkBounds {
  chunksMax: number;
  chunksPerFileMax: number;
  tokensMax: number;
}

const defaultBounds: ChunkBounds = {
  chunksMax: limits.retrievalChunksMax,
  chunksPerFileMax: limits.retrievalChunksPerFileMax,
  tokensMax: limits.retrievalTokensMax,
};

/**
 * `candidates` come best first. A chunk that the model has already takes one of the places, for it answers the
 * question as well as a new one, but none of the tokens. A chunk of an active file is listed and takes neither:
 * else a question about that file would leave no room for anything beside it. A chunk that no longer fits
 * makes way for a smaller one.
 */
export function chooseChunks<C extends Chunk>(
  candidates: readonly C[],
  known: { sent: { chunkKeys: ReadonlySet<string> }; activePaths: ReadonlySet<string> },
  bounds: ChunkBounds = defaultBounds,
): ChunkChoice<C> {
  const choice: ChunkChoice<C> = { refs: [], toSend: [] };
  const seen = new Set<string>();
  const chosenOfFile = new Map<string, number>();
  let chosen = 0;
  let tokens = 0;
  for (const chunk of candidates) {
    if (chosen >= bounds.chunksMax) break;
    if (seen.has(chunk.id)) continue;
    seen.add(chunk.id);
    if (known.activePaths.has(chunk.path)) {
      choice.refs.push({ ...refOf(chunk), wasSent: false, notSentBecause: "active_file" });
      continue;
    }
    const ofFile = chosenOfFile.get(chunk.path) ?? 0;
    const isKnown = known.sent.chunkKeys.has(chunkKey(chunk));
    const cost = isKnown ? 0 : estimateTokens(chunk.text);
    if (ofFile >= bounds.chunksPerFileMax || tokens + cost > bounds.tokensMax) continue;
    chosenOfFile.set(chunk.path, ofFile + 1);
    chosen += 1;
    tokens += cost;
    if (isKnown) choice.refs.push({ ...refOf(chunk), wasSent: false, notSentBecause: "already_sent" });
    else {
      choice.refs.push({ ...refOf(chunk), wasSent: true });
      choice.toSend.push(chunk);
    }
  }
  return choice;
}

/** Four characters a token: close enough for source code in every model's vocabulary, and the same everywhere. */
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
  };
}
