/** Cuts bytes that arrive in chunks into lines. How much of a line is kept in memory is up to the reader. */

const lineFeed = 0x0a;

export interface LinePiece {
  /** A part of a line, without its line feed. It may be empty. */
  bytes: Uint8Array;
  /** True if the line ends with this piece. */
  isLast: boolean;
}

/** Yields the pieces of a chunk. The one after the last line feed begins a line that later chunks continue. */
export function* linePieces(chunk: Uint8Array): Generator<LinePiece> {
  let from = 0;
  for (let at = chunk.indexOf(lineFeed); at !== -1; at = chunk.indexOf(lineFeed, from)) {
    yield { bytes: chunk.subarray(from, at), isLast: true };
    from = at + 1;
  }
  yield { bytes: chunk.subarray(from), isLast: false };
}
