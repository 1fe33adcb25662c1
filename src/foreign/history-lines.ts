/**
 * Reads a file of lines of JSON as a stream. A line that cannot be read is no error of the file: other tools are killed
 * while they write, and their readers skip such lines too. It is yielded with the reason.
 */
import { createReadStream } from "node:fs";
import { isRecord } from "../system/guards.ts";

export interface HistoryLine {
  /** The place of the line in the file, in bytes, with its line break. */
  from: number;
  to: number;
  /** The object of the line. Null: it cannot be read. */
  value: Record<string, unknown> | null;
  /** Why it cannot be read, as a kind that is counted. Null: it can, or it is empty. */
  fault: "line without an end" | "damaged line" | "line that is too long" | null;
}

/** A longer line is kept, but not read: it would have to be in memory at once. */
const readLineBytesMax = 67_108_864;
const newline = 0x0a;

/** Yields the lines of the first `size` bytes of a file. */
export async function* historyLines(path: string, size: number): AsyncGenerator<HistoryLine> {
  let pieces: Buffer[] = [];
  let held = 0;
  let at = 0;
  let from = 0;
  if (size === 0) return;
  for await (const chunk of createReadStream(path, { end: size - 1, highWaterMark: 1_048_576 })) {
    const bytes = chunk as Buffer;
    let start = 0;
    for (let end = bytes.indexOf(newline); end !== -1; end = bytes.indexOf(newline, start)) {
      hold(bytes.subarray(start, end));
      yield lineOf(from, at + end + 1, true);
      from = at + end + 1;
      start = end + 1;
    }
    hold(bytes.subarray(start));
    at += bytes.length;
  }
  if (from < at) yield lineOf(from, at, false);

  function hold(piece: Buffer): void {
    held += piece.length;
    if (held <= readLineBytesMax) pieces.push(piece);
  }

  function lineOf(begin: number, to: number, hasEnd: boolean): HistoryLine {
    const isTooLong = held > readLineBytesMax;
    const text = isTooLong ? "" : Buffer.concat(pieces).toString("utf8");
    pieces = [];
    held = 0;
    if (isTooLong) return { from: begin, to, value: null, fault: "line that is too long" };
    if (text.trim() === "") return { from: begin, to, value: null, fault: null };
    const value = parsed(text);
    if (value !== null) return { from: begin, to, value, fault: null };
    return { from: begin, to, value: null, fault: hasEnd ? "damaged line" : "line without an end" };
  }
}

function parsed(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text);
    return isRecord(value) ? value : null;
  } catch {
    return null;
  }
}
