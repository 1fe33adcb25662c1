/** The chunks of a file as every index keeps them: with ids that outlast moves (Q2), and what of each is searched. */
import { sha256 } from "../domain/ids.ts";
import { chunkFile, type ChunkPiece } from "./chunking/chunk-file.ts";
import { chunkId } from "./chunking/chunk-id.ts";
import { loadSyntax } from "./chunking/syntax.ts";

export interface FileChunk extends ChunkPiece {
  id: string;
  path: string;
  /** SHA-256 of the text. */
  hash: string;
}

export interface FileText {
  repo: string;
  path: string;
  language: string;
  text: string;
}

export async function fileChunks(file: FileText): Promise<FileChunk[]> {
  const { repo, path } = file;
  const copies = new Map<string, number>();
  return chunkFile(file, await loadSyntax(file.language)).map((piece) => {
    const hash = sha256(piece.text);
    const sameText = `${hash} ${piece.symbol ?? ""}`;
    const copy = copies.get(sameText) ?? 0;
    copies.set(sameText, copy + 1);
    return { ...piece, path, hash, id: chunkId({ repo, path, symbol: piece.symbol, hash, copy }) };
  });
}

/** Where a chunk stands says as much as what is in it. */
export function embeddedText({ path, symbol, text }: Pick<FileChunk, "path" | "symbol" | "text">): string {
  return `${path}\n${symbol ?? ""}\n${searchedPart(text)}`;
}

/** What of a chunk is searched. Only a single overlong line has more, and that is data. */
export function searchedPart(text: string): string {
  return text.slice(0, searchedCharactersMax);
}

const searchedCharactersMax = 8_000;
