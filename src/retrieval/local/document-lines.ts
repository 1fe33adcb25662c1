/**
 * The lines of a document that was not written in lines: one of JSON, or a text whose paragraphs are single lines. Chunks begin and
 * end with lines, so a line that is longer than a chunk is broken, between words if it can be. Its parts keep its number.
 */
import { limits } from "../../domain/limits.ts";

export interface BrokenLines {
  text: string;
  /** Returns the number of the document's line that a line of the text is a part of. */
  lineOf(line: number): number;
}

/** Returns null if no line is too long. */
export function breakLines(text: string): BrokenLines | null {
  const lines = text.split("\n");
  if (lines.every(({ length }) => length <= limits.chunkCharactersMax)) return null;
  const parts: string[] = [];
  const numbers: number[] = [];
  for (const [at, line] of lines.entries()) {
    for (const part of partsOf(line)) {
      parts.push(part);
      numbers.push(at + 1);
    }
  }
  return { text: parts.join("\n"), lineOf: (line) => numbers[line - 1] ?? lines.length };
}

function* partsOf(line: string): Generator<string> {
  let from = 0;
  while (line.length - from > limits.chunkCharactersMax) {
    const end = breakAt(line, from + limits.chunkMergeCharactersMax);
    yield line.slice(from, end);
    from = end;
  }
  yield line.slice(from);
}

/** Returns the end of a part: after the last space of its second half, and never inside a character. */
function breakAt(line: string, most: number): number {
  const half = most - limits.chunkMergeCharactersMax / 2;
  // A search in the whole line would look at all of it again for each part.
  const space = line.slice(half, most).lastIndexOf(" ");
  if (space !== -1) return half + space + 1;
  const last = line.charCodeAt(most - 1);
  return last >= 0xd800 && last <= 0xdbff ? most - 1 : most;
}
