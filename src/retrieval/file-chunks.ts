/** The chunks of a file as every index stores them: with ids that survive moves (Q2), and with the text that is searched. */
import { sha256 } from "../domain/ids.ts";
import { chunkFile, type ChunkPiece } from "./chunking/chunk-file.ts";
import { chunkId } from "./chunking/chunk-id.ts";
import { loadSyntax } from "./chunking/language-syntax.ts";

export interface FileChunk extends ChunkPiece {
  id: string;
  path: string;
  /** The SHA-256 of the text. */
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

/** Returns the text that is embedded. The path and the symbol of a chunk matter as much as its text. */
export function embeddedText({ path, symbol, text }: Pick<FileChunk, "path" | "symbol" | "text">): string {
  return `${path}\n${symbol ?? ""}\n${searchedPart(text)}`;
}

/** Returns the part of a chunk that is searched. Only a single overlong line is longer, and that is data. */
export function searchedPart(text: string): string {
  return text.slice(0, searchedCharactersMax);
}

const searchedCharactersMax = 8_000;
