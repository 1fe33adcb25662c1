/**
 * Reads addresses of the public web (I2). A name is resolved once, all its addresses are checked, and the connection goes
 * to an address that was checked. So a name that changes its address a moment later has no effect. Each redirect is
 * checked as a new address.
 */
import { lookup } from "node:dns/promises";
import { request as httpRequest, type IncomingMessage } from "node:http";
import { request as httpsRequest } from "node:https";
import { isIP } from "node:net";
import { createBrotliDecompress, createGunzip, createInflate } from "node:zlib";
import type { Duplex, Readable } from "node:stream";
import { AptoveError } from "../../domain/errors.ts";
import { plainMediaType } from "../../domain/input-part.ts";
import { limits } from "../../domain/limits.ts";
import { anySignal, unlessAborted } from "../../system/abort.ts";
import type { UrlContent, UrlReader } from "../url-reader.ts";
import { isPublicAddress } from "./public-address.ts";

export interface WebReaderOptions {
  /** Hosts that may have any address, private ones included: a name, or a name with a port. */
  allowedHosts: readonly string[];
  /** Resolves a name to all its addresses. Absent: the system's resolver. */
  resolve?: (name: string) => Promise<{ address: string; family: number }[]>;
  timeMs?: number;
}

type Resolve = NonNullable<WebReaderOptions["resolve"]>;
const systemResolve: Resolve = (name) => lookup(name, { all: true });

export function webReader(options: WebReaderOptions): UrlReader {
  const { allowedHosts, resolve = systemResolve, timeMs = limits.urlMs } = options;
  return {
    read: async (text, { bytesMax, signal }) => {
      const time = AbortSignal.timeout(timeMs);
      const stop = anySignal(signal, time);
      try {
        return await follow(text, { bytesMax, stop, allowedHosts, resolve });
      } catch (cause) {
        if (cause instanceof AptoveError) throw cause;
        const why = time.aborted ? `it took longer than ${timeMs} ms` : reasonOf(cause);
        throw new AptoveError("url_unavailable", `${shown(text)}: ${why}`, { cause });
      }
    },
  };
}

interface Reading {
  bytesMax: number;
  stop: AbortSignal;
  allowedHosts: readonly string[];
  resolve: Resolve;
}

async function follow(text: string, reading: Reading): Promise<UrlContent> {
  let url = checkedUrl(text);
  for (let hops = 0; hops <= limits.urlRedirectsMax; hops += 1) {
    const response = await open(url, reading);
    const location = response.headers.location;
    const { statusCode = 0 } = response;
    if (statusCode >= 300 && statusCode < 400 && location !== undefined) {
      response.destroy();
      url = checkedUrl(URL.parse(location, url)?.href ?? location);
      continue;
    }
    if (statusCode !== 200) {
      response.destroy();
      throw new AptoveError("url_unavailable", `${shown(url.href)} responds with status ${statusCode}`);
    }
    const content = await contentOf(response, url, reading.bytesMax);
    return { content, mediaType: plainMediaType(response.headers["content-type"] ?? "") };
  }
  throw new AptoveError("url_refused", `${shown(text)} redirects more than ${limits.urlRedirectsMax} times`);
}

function checkedUrl(text: string): URL {
  const url = text.length > limits.urlCharactersMax ? null : URL.parse(text);
  if (url === null) throw refused(text, "is not a valid address");
  if (url.protocol !== "http:" && url.protocol !== "https:") throw refused(text, "is neither http nor https");
  if (url.username !== "" || url.password !== "") throw refused(text, "contains a user name or a password");
  return url;
}

/** Opens one address and follows no redirect. Rejects with the error that prevented the response. */
async function open(url: URL, { stop, allowedHosts, resolve }: Reading): Promise<IncomingMessage> {
  // A lookup cannot be cancelled, so its result is dropped.
  const { address, family } = await unlessAborted(checkedAddress(url, allowedHosts, resolve), stop);
  stop.throwIfAborted();
  const { promise, resolve: give, reject } = Promise.withResolvers<IncomingMessage>();
  const send = url.protocol === "https:" ? httpsRequest : httpRequest;
  const request = send(url, {
    signal: stop,
    // A kept connection could go to an address that was checked for another request.
    agent: false,
    headers: { accept: "*/*", "accept-encoding": "gzip, deflate, br", "user-agent": "aptove" },
    // Connects only to the address that was checked, whatever the name resolves to now.
    lookup: (_name, options, callback) =>
      options.all === true ? callback(null, [{ address, family }]) : callback(null, address, family),
  });
  request.once("response", give);
  request.once("error", reject);
  // Node drops a response that changes the protocol (101) without an error, and no other event would follow.
  request.once("close", () => reject(new Error("the server closed the connection without a response")));
  request.end();
  return await promise;
}

async function checkedAddress(
  url: URL,
  allowedHosts: readonly string[],
  resolve: Resolve,
): Promise<{ address: string; family: number }> {
  const name = url.hostname.replace(/^\[(.*)\]$/, "$1");
  const isAllowed = allowedHosts.some((host) => host === url.host || host === url.hostname);
  const literal = isIP(name);
  const found = literal === 0 ? await resolve(name) : [{ address: name, family: literal }];
  const [first] = found;
  if (first === undefined) throw new AptoveError("url_unavailable", `${shown(url.href)}: its name has no address`);
  const isPublic = found.every(({ address }) => isPublicAddress(address));
  if (isAllowed || isPublic) return first;
  throw refused(url.href, "is not a public address; an operator may allow its host (input.allowed_url_hosts)");
}

async function contentOf(response: IncomingMessage, url: URL, bytesMax: number): Promise<Uint8Array> {
  const body = decoded(response, url);
  const pieces: Uint8Array[] = [];
  let size = 0;
  try {
    for await (const piece of body as AsyncIterable<Uint8Array>) {
      size += piece.byteLength;
      if (size > bytesMax)
        throw new AptoveError("input_too_large", `${shown(url.href)} has more than ${bytesMax} bytes`);
      pieces.push(piece);
    }
  } finally {
    response.destroy();
    body.destroy();
  }
  return Buffer.concat(pieces);
}

/** Returns the decompressed body. Its bytes are counted piece by piece, so a small body that expands to a very large one is cut early. */
function decoded(response: IncomingMessage, url: URL): Readable {
  const encoding = (response.headers["content-encoding"] ?? "identity").trim().toLowerCase();
  const into = (stream: Duplex): Readable => {
    response.once("error", (error) => stream.destroy(error));
    return response.pipe(stream);
  };
  switch (encoding) {
    case "identity":
    case "":
      return response;
    case "gzip":
    case "x-gzip":
      return into(createGunzip());
    case "deflate":
      return into(createInflate());
    case "br":
      return into(createBrotliDecompress());
    default:
      throw new AptoveError(
        "url_unavailable",
        `${shown(url.href)} has the unknown encoding ${JSON.stringify(encoding)}`,
      );
  }
}

function refused(text: string, why: string): AptoveError {
  return new AptoveError("url_refused", `${shown(text)} ${why}`);
}

/** Returns the address for a message, without the parts that may contain a secret (E8). */
function shown(text: string): string {
  const url = URL.parse(text);
  if (url === null) return JSON.stringify(text.slice(0, 100));
  return `${url.protocol}//${url.host}${url.pathname.slice(0, 200)}`;
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return "it failed";
  const { code } = error as NodeJS.ErrnoException;
  return code ?? error.message;
}
