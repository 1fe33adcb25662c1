/** Lines as bodies, in both directions: neither a file nor an answer is ever whole in memory, only one line of it. */
import { AptoveError } from "../../../domain/errors.ts";

/** The lines of a body, without their ends. Throws `body_too_large` for one that is longer than `lineBytesMax`. */
export async function* readLines(pieces: AsyncIterable<Uint8Array>, lineBytesMax: number): AsyncGenerator<string> {
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
    let from = 0;
    for (let at = piece.indexOf(newline); at !== -1; at = piece.indexOf(newline, from)) {
      add(piece.subarray(from, at));
      yield endLine();
      from = at + 1;
    }
    add(piece.subarray(from));
  }
  if (size > 0) yield endLine();
}

const newline = 0x0a;

function lineText(bytes: Uint8Array, number: number): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw new AptoveError("import_invalid", `line ${number} is not UTF-8`);
  }
}

const encoder = new TextEncoder();

/**
 * Lines as a body. Resolves with the first line, so that what refuses to give any is a refusal and no broken
 * answer; what breaks later breaks the connection, and is told to `onFault`.
 */
export async function lineStream(
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
      // Whoever went away while a line was read wants none any more.
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
