/** Reading a request's body within its limit, counted as it arrives and not by what a header promises (H5). */
import type { ReadableStreamReadResult } from "node:stream/web";
import { AptoveError } from "../../../domain/errors.ts";
import { parseJson } from "./json-body.ts";

export async function readBody(request: Request, bytesMax: number): Promise<Uint8Array> {
  return Buffer.concat(await Array.fromAsync(bodyPieces(request, bytesMax)));
}

const readToTheEnd = new WeakSet<Request>();

/** Whether a part of the request's body may still be on its way. */
export function isUnread(request: Request): boolean {
  return request.body !== null && !readToTheEnd.has(request);
}

/** A body as it arrives. Throws `body_too_large` as soon as the limit is passed, `unsupported_media_type` for a packed one. */
export async function* bodyPieces(request: Request, bytesMax: number): AsyncGenerator<Uint8Array> {
  refuseEncoded(request);
  const promised = Number(request.headers.get("content-length") ?? 0);
  if (promised > bytesMax) throw tooLarge(bytesMax);
  if (request.body === null) return;
  const reader = request.body.getReader() as ReadableStreamDefaultReader<Uint8Array>;
  let size = 0;
  for (;;) {
    const { done, value } = await nextPiece(reader);
    if (done) {
      readToTheEnd.add(request);
      return;
    }
    size += value.byteLength;
    // The rest is left unread, not cancelled: cancelling would cut the connection before the answer is out.
    if (size > bytesMax) throw tooLarge(bytesMax);
    yield value;
  }
}

/** Nothing is unpacked here, so nothing small becomes large (H5). */
function refuseEncoded({ headers }: Request): void {
  const encoding = (headers.get("content-encoding") ?? "identity").trim().toLowerCase();
  if (encoding === "identity" || encoding === "") return;
  const detail = `the encoding ${JSON.stringify(encoding)} of a body is not taken; send it as it is`;
  throw new AptoveError("unsupported_media_type", detail);
}

async function nextPiece(
  reader: ReadableStreamDefaultReader<Uint8Array>,
): Promise<ReadableStreamReadResult<Uint8Array>> {
  try {
    return await reader.read();
  } catch (cause) {
    throw new AptoveError("request_invalid", "the body ended before it was complete", { cause });
  }
}

function tooLarge(bytesMax: number): AptoveError {
  return new AptoveError("body_too_large", `the limit is ${bytesMax} bytes`, { facts: { limitBytes: bytesMax } });
}

/** The text of a body, without a byte order mark. */
export function bodyText(body: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(body);
  } catch {
    throw new AptoveError("request_invalid", "the body is not UTF-8");
  }
}

export interface MediaType {
  /** Lower case, without parameters; empty where there is none. */
  name: string;
  charset: string | null;
}

export function mediaType(request: Request): MediaType {
  const [name = "", ...parameters] = (request.headers.get("content-type") ?? "").split(";");
  const charset = parameters
    .map((one) => /^\s*charset="?([^"\s]+)"?\s*$/i.exec(one)?.[1])
    .find((one) => one !== undefined);
  return { name: name.trim().toLowerCase(), charset: charset?.toLowerCase() ?? null };
}

/** JSON from a body that says it is JSON: anything else is `unsupported_media_type`. */
export async function readJson(request: Request, bytesMax: number): Promise<unknown> {
  requireMediaType(mediaType(request), ["application/json"]);
  return parseJson(bodyText(await readBody(request, bytesMax)), "the body");
}

export function requireMediaType({ name, charset }: MediaType, taken: readonly string[]): void {
  if (!taken.includes(name)) {
    const given = name === "" ? "the request names none" : `"${name}" is not`;
    throw new AptoveError("unsupported_media_type", `taken here: ${taken.join(", ")}; ${given}`);
  }
  if (charset !== null && charset !== "utf-8" && charset !== "utf8") {
    throw new AptoveError("unsupported_media_type", `the charset "${charset}" is not taken; send UTF-8`);
  }
}
