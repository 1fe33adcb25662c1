/** Reads the messages of a client, one JSON text a line. An invalid or too long line is a fault that is answered, and the reading goes on. */
import { type JSONRPCMessage, parseJSONRPCMessage } from "@modelcontextprotocol/server";
import { isRecord } from "../../system/guards.ts";
import { linePieces } from "../../system/line-pieces.ts";

export type RequestLine = { message: JSONRPCMessage } | { fault: LineFault };

export interface LineFault {
  code: number;
  message: string;
  /** The id of the request. Null if it is not known. Undefined: the line is a response, which is never answered. */
  id: string | number | null | undefined;
}

const parseError = -32_700;
const invalidRequest = -32_600;
/** How much is kept of both ends of a line that is too long: clients write the id of a request first or last. */
const endBytes = 512;

/** Splits bytes into lines. A line may arrive in many pieces. */
export class RequestLines {
  readonly #bytesMax: number;
  #pieces: Uint8Array[] = [];
  #bytes = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  *push(chunk: Uint8Array): Generator<RequestLine> {
    for (const { bytes, isLast } of linePieces(chunk)) {
      this.#keep(bytes);
      if (isLast) yield* this.end();
    }
  }

  /** Yields the line that was read so far, at the end of the input too. */
  *end(): Generator<RequestLine> {
    const [pieces, bytes] = [this.#pieces, this.#bytes];
    this.#pieces = [];
    this.#bytes = 0;
    const line = Buffer.concat(pieces);
    if (bytes > this.#bytesMax) {
      const message = `Invalid request: the message has ${bytes} bytes; the limit is ${this.#bytesMax}`;
      yield { fault: { code: invalidRequest, message, id: idAtAnEnd(line.toString("latin1")) } };
    } else if (line.some((byte) => byte > 0x20)) {
      yield readLine(line);
    }
  }

  #keep(piece: Uint8Array): void {
    this.#bytes += piece.byteLength;
    this.#pieces.push(piece);
    if (this.#bytes <= this.#bytesMax) return;
    const kept = Buffer.concat(this.#pieces);
    const rest = Math.max(endBytes, kept.length - endBytes);
    // A copy, so that the whole line can be released.
    this.#pieces = [Buffer.concat([kept.subarray(0, endBytes), kept.subarray(rest)])];
  }
}

const utf8 = new TextDecoder("utf-8", { fatal: true });

function readLine(line: Uint8Array): RequestLine {
  let value: unknown;
  try {
    value = JSON.parse(utf8.decode(line));
  } catch {
    return { fault: { code: parseError, message: "Parse error: the line is not JSON in UTF-8", id: null } };
  }
  try {
    return { message: parseJSONRPCMessage(value) };
  } catch {
    // The library's error is a page of alternatives. No message of the protocol has one of these forms.
    return { fault: { code: invalidRequest, message: `Invalid request: ${formFault(value)}`, id: idOf(value) } };
  }
}

function formFault(value: unknown): string {
  if (Array.isArray(value)) return "batches are not supported";
  if (!isRecord(value)) return "not an object";
  if (value["jsonrpc"] !== "2.0") return 'jsonrpc is not "2.0"';
  const { id, method } = value;
  if (id !== undefined && typeof id !== "string" && !Number.isSafeInteger(id))
    return "the id is not a text or an integer";
  return typeof method === "string" ? "params is not an object of the protocol" : "there is no method";
}

function idOf(value: unknown): LineFault["id"] {
  if (!isRecord(value)) return null;
  const { id } = value;
  if (!("method" in value) && ("result" in value || "error" in value)) return undefined;
  return typeof id === "string" || typeof id === "number" ? id : null;
}

const idText = String.raw`(-?\d+|"(?:[^"\\]|\\.)*")`;
const idFirst = new RegExp(String.raw`^\s*\{\s*"jsonrpc"\s*:\s*"2\.0"\s*,\s*"id"\s*:\s*${idText}\s*,`);
const idLast = new RegExp(String.raw`"jsonrpc"\s*:\s*"2\.0"\s*,\s*"id"\s*:\s*${idText}\s*\}\s*$`);

function idAtAnEnd(ends: string): string | number | null {
  const id = (idFirst.exec(ends) ?? idLast.exec(ends))?.[1];
  if (id === undefined) return null;
  try {
    return JSON.parse(id) as string | number;
  } catch {
    // The id is not a valid JSON string.
    return null;
  }
}
