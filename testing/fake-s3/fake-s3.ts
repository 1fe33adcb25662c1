/**
 * A server that speaks the part of S3 that blobs need, strictly, and in memory: signatures are checked, writes are
 * conditional, lists come in pages. It can simulate faults of networks and servers: refuse, be silent, lose an
 * answer, cut it, change it, or send it twice. (A real server: testing/servers/radosgw.ts.)
 */
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { signatureFault } from "./signature.ts";

/** A fault of one request, before or after its effect. */
export type S3Fault =
  | { how: "refuse"; status: number; code?: string; headers?: Record<string, string> }
  /** No answer is sent, and nothing is done. */
  | { how: "silence" }
  /** The request is carried out, and the connection is cut before the answer. */
  | { how: "lost" }
  /** The answer ends half way. `cleanly`: it ends as if it were complete. */
  | { how: "cut"; cleanly?: boolean }
  | { how: "damage" }
  | { how: "twice" };

export interface FakeS3Options {
  /** False for an older server, which ignores the condition and replaces the object. */
  conditional?: boolean;
  pageSize?: number;
  /** The number of milliseconds by which its clock is ahead. */
  clockOffsetMs?: number;
  /** Called between the effect of a request and its answer. False: no answer is sent. */
  mayAnswer?(request: FakeS3Request): boolean;
}

export interface FakeS3Request {
  method: string;
  /** The key of the object; empty for the bucket. */
  key: string;
  query: Record<string, string>;
}

export interface FakeS3 {
  endpoint: string;
  bucket: string;
  region: string;
  accessKeyId: string;
  secretAccessKey: string;
  /** All requests, in order. */
  requests: FakeS3Request[];
  /** The objects by key. A test may change them without the client. */
  objects: Map<string, FakeObject>;
  /** Sets the faults of the next requests with this method, one each. */
  next(method: string, ...faults: S3Fault[]): void;
  close(): Promise<void>;
}

export interface FakeObject {
  bytes: Buffer;
  /** The metadata, sent as `x-amz-meta-…`. */
  meta: Record<string, string>;
}

interface Answer {
  status: number;
  headers?: Record<string, string>;
  body?: Buffer;
}

const place = { bucket: "blobs", region: "eu-test-1", accessKeyId: "AKFAKE", secretAccessKey: "SKFAKE+/=" };

export async function startFakeS3(options: FakeS3Options = {}): Promise<FakeS3> {
  const faults = new Map<string, S3Fault[]>();
  const fake = { ...place, endpoint: "", requests: [], objects: new Map() } as unknown as FakeS3;
  const server = createServer((incoming, outgoing) => void serve(incoming, outgoing));
  const serve = async (incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> => {
    const body = await buffer(incoming).catch(() => null);
    if (body === null) return;
    const request = requestOf(incoming);
    fake.requests.push(request);
    const fault = faults.get(request.method)?.shift();
    const now = Date.now() + (options.clockOffsetMs ?? 0);
    const signed = signatureFault({ request: incoming, body, now }, fake);
    if (fault?.how === "silence") return;
    const answer =
      fault?.how === "refuse"
        ? { ...refusal(fault.status, fault.code ?? "SlowDown"), headers: fault.headers ?? {} }
        : signed === null
          ? answerOf(fake, { ...request, incoming, body }, options)
          : refusal(signed === "AuthorizationHeaderMalformed" ? 400 : 403, signed);
    if (options.mayAnswer?.(request) === false) return;
    deliver(outgoing, { ...answer, headers: { date: new Date(now).toUTCString(), ...answer.headers } }, fault);
  };
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return Object.assign(fake, {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    next: (method: string, ...more: S3Fault[]) => void faults.set(method, [...(faults.get(method) ?? []), ...more]),
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  });
}

function requestOf({ method = "", url = "" }: IncomingMessage): FakeS3Request {
  const [path = "", query = ""] = url.split("?");
  return {
    method,
    key: decodeURIComponent(path.split("/").slice(2).join("/")),
    query: Object.fromEntries(new URLSearchParams(query)),
  };
}

interface Come extends FakeS3Request {
  incoming: IncomingMessage;
  body: Buffer;
}

function answerOf(fake: FakeS3, { method, key, query, incoming, body }: Come, options: FakeS3Options): Answer {
  const { objects } = fake;
  if (incoming.url?.split(/[/?]/)[1] !== fake.bucket) return refusal(404, "NoSuchBucket");
  const object = objects.get(key);
  const lists = key === "" && method === "GET" && query["list-type"] === "2";
  switch (lists ? "LIST" : key === "" ? "" : method) {
    case "LIST":
      return list(fake, query, options.pageSize ?? 1_000);
    case "PUT":
      if (incoming.headers["if-none-match"] === "*" && object !== undefined && options.conditional !== false) {
        return refusal(412, "PreconditionFailed");
      }
      objects.set(key, { bytes: body, meta: metaOf(incoming) });
      return { status: 200 };
    case "DELETE":
      objects.delete(key);
      return { status: 204 };
    case "GET":
    case "HEAD":
      if (object === undefined) return refusal(404, "NoSuchKey");
      return { status: 200, headers: object.meta, body: object.bytes };
    default:
      return refusal(501, "NotImplemented");
  }
}

function metaOf({ headers }: IncomingMessage): Record<string, string> {
  const meta = Object.entries(headers).filter(([name]) => name.startsWith("x-amz-meta-"));
  return Object.fromEntries(meta.map(([name, value]) => [name, String(value)]));
}

function list({ objects }: FakeS3, query: Record<string, string>, pageSize: number): Answer {
  const token = query["continuation-token"];
  const from = token === undefined ? 0 : Number(/^page <(\d+)> & "more"$/.exec(token)?.[1]);
  if (Number.isNaN(from)) return refusal(400, "InvalidArgument");
  const keys = [...objects.keys()].filter((key) => key.startsWith(query["prefix"] ?? "")).toSorted();
  const to = from + pageSize;
  const contents = keys.slice(from, to).map((key) => `<Contents><Key>${escaped(key)}</Key><Size>1</Size></Contents>`);
  const next =
    to < keys.length ? `<NextContinuationToken>${escaped(`page <${to}> & "more"`)}</NextContinuationToken>` : "";
  const truncated = `<IsTruncated>${to < keys.length}</IsTruncated>`;
  const xml = `<?xml version="1.0" encoding="UTF-8"?>\n<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Name>blobs</Name>${truncated}${next}${contents.join("")}</ListBucketResult>`;
  return { status: 200, body: Buffer.from(xml) };
}

function escaped(text: string): string {
  return text.replace(/[&<>"]/g, (char) => `&#${char.charCodeAt(0)};`);
}

function refusal(status: number, code: string): Answer {
  const xml = `<?xml version="1.0" encoding="UTF-8"?><Error><Code>${code}</Code><Message>SKFAKE is no message</Message></Error>`;
  return { status, body: Buffer.from(xml) };
}

function deliver(outgoing: ServerResponse, { status, headers, body = Buffer.alloc(0) }: Answer, fault?: S3Fault): void {
  const { socket } = outgoing;
  if (fault?.how === "lost") return void socket?.destroy();
  let sent = body;
  if (fault?.how === "damage")
    sent = Buffer.from(body).fill((body[body.length >> 1] ?? 0) ^ 1, body.length >> 1, (body.length >> 1) + 1);
  if (fault?.how === "cut" && fault.cleanly === true) sent = body.subarray(0, body.length >> 1);
  outgoing.writeHead(status, { ...headers, "content-length": sent.length });
  if (fault?.how === "cut" && fault.cleanly !== true) {
    outgoing.write(sent.subarray(0, sent.length >> 1), () => socket?.destroy());
    return;
  }
  outgoing.end(sent, () => {
    if (fault?.how === "twice") socket?.write(`HTTP/1.1 ${status} Again\r\ncontent-length: 5\r\n\r\nagain`);
  });
}
