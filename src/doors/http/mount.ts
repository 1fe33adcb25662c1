/**
 * Something else than routes at a path of the server, for example another protocol. The door lets its visitors in by
 * the same rules as everybody (H4, H5) before it hands them over.
 */
import { STATUS_CODES } from "node:http";
import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { AptoveError } from "../../domain/errors.ts";
import type { AuthenticatedRequest } from "./admission/authentication.ts";
import { problemAnswer } from "./problem-answer.ts";
import type { Report } from "./problem-answer.ts";
import type { RequestInfo } from "./admission/request-info.ts";

export interface Mount {
  path: `/${string}`;
  methods: readonly string[];
  bodyBytesMax: number;
  /** The body of the request is within the limit, and read. What is thrown becomes a problem. */
  fetch(request: Request, visitor: AuthenticatedRequest): Promise<Response>;
  /** Takes the socket over, or rejects and has not touched it. */
  upgrade(handshake: Handshake, visitor: AuthenticatedRequest): Promise<void>;
}

/** A request to go on as a WebSocket. */
export interface Handshake {
  incoming: IncomingMessage;
  socket: Duplex;
  head: Buffer;
}

export function handshakeHeaders({ incoming }: Handshake): Headers {
  const headers = new Headers();
  for (const [name, values] of Object.entries(incoming.headersDistinct)) {
    for (const value of values ?? []) headers.append(name, value);
  }
  return headers;
}

/** The request of a handshake in the form that the door checks. Throws `request_invalid` for what is no address. */
export function handshakeRequest({ incoming }: Handshake, headers: Headers): Request {
  try {
    return new Request(new URL(incoming.url ?? "/", `http://${incoming.headers.host ?? ""}`), { headers });
  } catch (cause) {
    throw new AptoveError("request_invalid", "the request names no host that can be one", { cause });
  }
}

interface Refusal {
  thrown: unknown;
  visit: RequestInfo;
  report: Report;
}

/** What is asked of the socket, before it is a WebSocket, is answered as any request is. Gives the status. */
export async function refuseHandshake({ socket }: Handshake, { thrown, visit, report }: Refusal): Promise<number> {
  const response = problemAnswer(thrown, visit, report);
  const body = await response.text();
  response.headers.set("connection", "close");
  response.headers.set("x-request-id", visit.requestId);
  response.headers.set("content-length", String(Buffer.byteLength(body)));
  const headers = [...response.headers].map(([name, value]) => `${name}: ${value}\r\n`).join("");
  socket.once("finish", () => socket.destroy());
  socket.end(`HTTP/1.1 ${response.status} ${STATUS_CODES[response.status] ?? ""}\r\n${headers}\r\n${body}`);
  return response.status;
}
