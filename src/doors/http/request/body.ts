/** Reads the body of a request within its limit. Bytes are counted as they arrive, because a header may be wrong (H5). */
import { AptoveError } from "../../../domain/errors.ts";
import { parseJson } from "../../json-body.ts";

export async function readBody(request: Request, bytesMax: number): Promise<Uint8Array> {
  const promised = request.headers.get("content-length");
  if (promised === null) return Buffer.concat(await Array.fromAsync(bodyPieces(request, bytesMax)));
  refuseEncoded(request);
  if (Number(promised) > bytesMax) throw tooLarge(bytesMax);
  // The server gives no more than it was promised. Read at once, the body needs no stream.
  const body = new Uint8Array(await orIncomplete(request.arrayBuffer()));
  readToTheEnd.add(request);
  if (body.byteLength > bytesMax) throw tooLarge(bytesMax);
  return body;
}

const readToTheEnd = new WeakSet<Request>();

/** Returns true if a part of the request's body may still arrive. */
export function isUnread(request: Request): boolean {
  return !readToTheEnd.has(request) && request.body !== null;
}

/** Yields the body as it arrives. Throws `body_too_large` as soon as the limit is exceeded, `unsupported_media_type` for a compressed body. */
export async function* bodyPieces(request: Request, bytesMax: number): AsyncGenerator<Uint8Array> {
  refuseEncoded(request);
  const promised = Number(request.headers.get("content-length") ?? 0);
  if (promised > bytesMax) throw tooLarge(bytesMax);
  if (request.body === null) return;
  const reader = request.body.getReader() as ReadableStreamDefaultReader<Uint8Array>;
  let size = 0;
  for (;;) {
    const { done, value } = await orIncomplete(reader.read());
    if (done) {
      readToTheEnd.add(request);
      return;
    }
    size += value.byteLength;
    // The rest stays unread and is not cancelled: cancelling would cut the connection before the response is sent.
    if (size > bytesMax) throw tooLarge(bytesMax);
    yield value;
  }
}

/** Refuses a compressed body, because a small one could expand into a large one (H5). */
function refuseEncoded({ headers }: Request): void {
  const encoding = (headers.get("content-encoding") ?? "identity").trim().toLowerCase();
  if (encoding === "identity" || encoding === "") return;
  const detail = `the content encoding ${JSON.stringify(encoding)} is not supported; send the body without one`;
  throw new AptoveError("unsupported_media_type", detail);
}

async function orIncomplete<T>(reading: Promise<T>): Promise<T> {
  try {
    return await reading;
  } catch (cause) {
    throw new AptoveError("request_invalid", "the body ended before it was complete", { cause });
  }
}

function tooLarge(bytesMax: number): AptoveError {
  return new AptoveError("body_too_large", `the limit is ${bytesMax} bytes`, { facts: { limitBytes: bytesMax } });
}

/** Returns the text of a body, without a byte order mark. Throws `request_invalid` if it is not UTF-8. */
export function bodyText(body: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(body);
  } catch {
    throw new AptoveError("request_invalid", "the body is not UTF-8");
  }
}

export interface MediaType {
  /** The media type in lower case, without parameters. Empty if the request has none. */
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

/** Reads a JSON body. Throws `unsupported_media_type` if the header names another media type. */
export async function readJson(request: Request, bytesMax: number): Promise<unknown> {
  requireMediaType(mediaType(request), ["application/json"]);
  return parseJson(bodyText(await readBody(request, bytesMax)), "the body");
}

export function requireMediaType({ name, charset }: MediaType, taken: readonly string[]): void {
  if (!taken.includes(name)) {
    const given = name === "" ? "the request has no Content-Type" : `"${name}" is not supported`;
    throw new AptoveError("unsupported_media_type", `${given}; send ${taken.join(", ")}`);
  }
  if (charset !== null && charset !== "utf-8" && charset !== "utf8") {
    throw new AptoveError("unsupported_media_type", `the charset "${charset}" is not supported; send UTF-8`);
  }
}
