/** Reads JSON-RPC messages from bytes, one per line. A bad message gets an error, and the connection continues. */
import type { AnyMessage } from "@agentclientprotocol/sdk";
import { linePieces } from "../../../system/line-pieces.ts";
import { formFault } from "./message-form.ts";

export interface RpcError {
  code: number;
  message: string;
}

/** A line: a message, or a fault that is answered with an error. `id` is null if the request's id is unknown. */
export type ReadLine = { message: AnyMessage } | { fault: RpcError; id: string | number | null };

/** Splits bytes into lines. A line may arrive in many pieces. */
export class LineReader {
  readonly #bytesMax: number;
  #pieces: Uint8Array[] = [];
  #bytes = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  *push(chunk: Uint8Array): Generator<ReadLine> {
    for (const { bytes, isLast } of linePieces(chunk)) {
      this.#keep(bytes);
      if (isLast) yield* this.#take();
    }
  }

  /** Yields the last line, which may have no line break. */
  *end(): Generator<ReadLine> {
    yield* this.#take();
  }

  /** Keeps a piece of the line. If the line is too long, only its beginning is kept, which has the request's id. */
  #keep(piece: Uint8Array): void {
    if (piece.byteLength === 0) return;
    const wasTooLong = this.#bytes > this.#bytesMax;
    this.#bytes += piece.byteLength;
    if (!wasTooLong) this.#pieces.push(piece);
    if (!wasTooLong && this.#bytes > this.#bytesMax) this.#pieces = [beginningOf(this.#pieces)];
  }

  *#take(): Generator<ReadLine> {
    const [pieces, bytes] = [this.#pieces, this.#bytes];
    this.#pieces = [];
    this.#bytes = 0;
    if (bytes > this.#bytesMax) {
      const message = `the message has ${bytes} bytes; the limit is ${this.#bytesMax}`;
      yield { fault: { code: -32600, message: `Invalid request: ${message}` }, id: requestId(beginningOf(pieces)) };
      return;
    }
    const text = decode(pieces);
    if (text === null) yield { fault: { code: -32700, message: "Parse error: the bytes are not UTF-8" }, id: null };
    else if (text.trim() !== "") yield readMessage(text);
  }
}

const utf8 = new TextDecoder("utf-8", { fatal: true });

function decode(pieces: readonly Uint8Array[]): string | null {
  const [first] = pieces;
  const bytes = pieces.length === 1 && first !== undefined ? first : Buffer.concat(pieces);
  try {
    return utf8.decode(bytes);
  } catch {
    // Null: the caller answers with an error.
    return null;
  }
}

function readMessage(text: string): ReadLine {
  const fault = formFault(text);
  if (fault !== null) {
    const beginning = Buffer.from(text.slice(0, beginningBytesMax));
    return refused(fault, requestId(beginning));
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return { fault: { code: -32700, message: "Parse error: the line is not JSON" }, id: null };
  }
  if (Array.isArray(value)) return refused("batches are not supported");
  if (typeof value !== "object" || value === null) return refused("not an object");
  const { id } = value as { id?: unknown };
  // The SDK answers such a message too, but without its id, so it would count as a request that is never answered.
  if (!isMessage(value)) return refused("not a message of JSON-RPC 2.0", isId(id) ? id : null);
  return { message: value as AnyMessage };
}

function refused(fault: string, id: string | number | null = null): ReadLine {
  return { fault: { code: -32600, message: `Invalid request: ${fault}` }, id };
}

/** An answer is always a message, because a wrong one must not be answered. */
function isMessage(value: object): boolean {
  const { jsonrpc, id, method } = value as Record<string, unknown>;
  if (!("method" in value)) return "id" in value || "result" in value || "error" in value;
  return jsonrpc === "2.0" && typeof method === "string" && (!("id" in value) || id === null || isId(id));
}

function isId(id: unknown): id is string | number {
  return typeof id === "string" || Number.isFinite(id);
}

const beginningBytesMax = 4_096;

/** Returns a copy of the beginning, so that the rest can be released. */
function beginningOf(pieces: readonly Uint8Array[]): Uint8Array {
  const beginning = Buffer.alloc(beginningBytesMax);
  let length = 0;
  for (const piece of pieces) {
    if (length === beginningBytesMax) break;
    beginning.set(piece.subarray(0, beginningBytesMax - length), length);
    length = Math.min(beginningBytesMax, length + piece.byteLength);
  }
  return beginning.subarray(0, length);
}

/** Reads the id from the first bytes of a request, in the order in which clients write the fields. Null: the id is not there. */
function requestId(beginning: Uint8Array): string | number | null {
  const head = /^\s*\{\s*"jsonrpc"\s*:\s*"2\.0"\s*,\s*"id"\s*:\s*(-?\d+|"(?:[^"\\]|\\.)*")\s*,\s*"method"/;
  const id = head.exec(Buffer.from(beginning).toString("utf8"))?.[1];
  if (id === undefined) return null;
  try {
    return JSON.parse(id) as string | number;
  } catch {
    // The id is not a valid JSON string.
    return null;
  }
}
