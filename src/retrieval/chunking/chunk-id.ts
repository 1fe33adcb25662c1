import { sha256 } from "../../domain/ids.ts";

/**
 * Returns the id of a chunk: a name-based UUID (version 8, from a SHA-256) of the chunk's content, not of its position. So it
 * survives changed lines above it, and is the same in every index (Q2). `copy` counts the chunks with the same symbol and
 * text in one file, from 0.
 */
export function chunkId(chunk: {
  repo: string;
  path: string;
  symbol: string | null;
  hash: string;
  copy: number;
}): string {
  const { repo, path, symbol, hash, copy } = chunk;
  const hex = sha256(JSON.stringify([repo, path, symbol, hash, copy]));
  const variant = ((Number.parseInt(hex.charAt(16), 16) & 0x3) | 0x8).toString(16);
  return [
    hex.slice(0, 8),
    hex.slice(8, 12),
    `8${hex.slice(13, 16)}`,
    variant + hex.slice(17, 20),
    hex.slice(20, 32),
  ].join("-");
}
