/** Bodies of lines, as requests and as responses. Only one line is in memory at a time. */
import { AptoveError } from "../../../domain/errors.ts";
import { linePieces } from "../../../system/line-pieces.ts";

/** Yields the lines of a body, without line breaks. Throws `body_too_large` for a line longer than `lineBytesMax`. */
export async function* bodyLines(pieces: AsyncIterable<Uint8Array>, lineBytesMax: number): AsyncGenerator<string> {
  let begun: Uint8Array[] = [];
  let size = 0;
  let number = 1;
  const add = (piece: Uint8Array): void => {
    begun.push(piece);
    size += piece.byteLength;
    if (size <= lineBytesMax) return;
    const detail = `line ${number} has more than ${lineBytesMax} bytes, which is the limit of one line`;
    throw new AptoveError("body_too_large", detail, { facts: { limitBytes: lineBytesMax } });
  };
  const endLine = (): string => {
    const line = lineText(Buffer.concat(begun), number);
    begun = [];
    size = 0;
    number += 1;
    return line;
  };
  for await (const piece of pieces) {
    for (const { bytes, isLast } of linePieces(piece)) {
      add(bytes);
      if (isLast) yield endLine();
    }
  }
  if (size > 0) yield endLine();
}

function lineText(bytes: Uint8Array, number: number): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw new AptoveError("import_invalid", `line ${number} is not UTF-8`);
  }
}

const encoder = new TextEncoder();

/**
 * Returns lines as a body. It waits for the first line, so that an early error becomes a problem document and not a broken
 * response. A later error breaks the connection, and is passed to `onFault`.
 */
export async function bodyOfLines(
  lines: AsyncIterable<string>,
  onFault: (error: unknown) => void,
): Promise<ReadableStream<Uint8Array>> {
  const iterator = lines[Symbol.asyncIterator]();
  let next: IteratorResult<string> | null = await iterator.next();
  let hasLeft = false;
  const pull = async (controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> => {
    try {
      const result = next ?? (await iterator.next());
      next = null;
      // The client left while the line was read.
      if (hasLeft) return;
      if (result.done) controller.close();
      else controller.enqueue(encoder.encode(`${result.value}\n`));
    } catch (error) {
      onFault(error);
      controller.error(error);
    }
  };
  const cancel = async (): Promise<void> => {
    hasLeft = true;
    await iterator.return?.();
  };
  return new ReadableStream({ pull, cancel }, { highWaterMark: 0 });
}
