/**
 * A mount serves something other than routes at a path of the server, for example another protocol. The door authenticates
 * and limits its requests like all others (H4, H5) before it passes them on.
 */
import { STATUS_CODES, type IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { AptoveError } from "../../domain/errors.ts";
import type { AuthenticatedRequest } from "./admission/authentication.ts";
import { problemAnswer, type RefusalForm, type ReportFault } from "./problem-answer.ts";
import type { RequestInfo } from "./admission/request-info.ts";

export interface HttpMount {
  /** The path. One that ends in `/*` stands for all paths below it. */
  path: `/${string}`;
  methods: readonly string[];
  bodyBytesMax: number;
  /** Answers a request, whose body is already read and within the limit. A thrown error becomes a problem document. */
  fetch(request: Request, authenticated: MountedRequest): Promise<Response>;
  /** Writes an error in the form of the mount's own protocol, also one that the door found. Absent: a problem document. */
  refusal?: RefusalForm;
  /** Takes over the socket. If it rejects, it has not touched the socket. */
  upgrade(handshake: UpgradeRequest, authenticated: MountedRequest): Promise<void>;
}

/** The client of a mount, and what the door offers beside its identity. */
export interface MountedRequest extends AuthenticatedRequest {
  /** Takes one of the caller's slots for a running turn, and returns the function that frees it. Throws `runs_limited` (H5). */
  takeRun(): () => void;
  /** Calls `onEnd` when the caller's key becomes invalid. Returns the function that stops watching. */
  watchKey(onEnd: () => void): () => void;
}

/** A request to upgrade the connection to a WebSocket. */
export interface UpgradeRequest {
  incoming: IncomingMessage;
  socket: Duplex;
  head: Buffer;
}

export function upgradeHeaders({ incoming }: UpgradeRequest): Headers {
  const headers = new Headers();
  for (const [name, values] of Object.entries(incoming.headersDistinct)) {
    for (const value of values ?? []) headers.append(name, value);
  }
  return headers;
}

/** Returns an upgrade as a request, so that the door can check it. Throws `request_invalid` if its address is invalid. */
export function upgradeAsRequest({ incoming }: UpgradeRequest, headers: Headers): Request {
  try {
    return new Request(new URL(incoming.url ?? "/", `http://${incoming.headers.host ?? ""}`), { headers });
  } catch (cause) {
    throw new AptoveError("request_invalid", "the Host header or the path of the request is not valid", { cause });
  }
}

interface UpgradeRefusal {
  thrown: unknown;
  info: RequestInfo;
  report: ReportFault;
  form?: RefusalForm | undefined;
}

/** Answers an upgrade with a problem document, like any other request. Returns the status. */
export async function refuseUpgrade(
  { socket }: UpgradeRequest,
  { thrown, info, report, form }: UpgradeRefusal,
): Promise<number> {
  const response = problemAnswer(thrown, info, { report, form });
  const body = await response.text();
  response.headers.set("connection", "close");
  response.headers.set("x-request-id", info.requestId);
  response.headers.set("content-length", String(Buffer.byteLength(body)));
  const headers = [...response.headers].map(([name, value]) => `${name}: ${value}\r\n`).join("");
  socket.once("finish", () => socket.destroy());
  socket.end(`HTTP/1.1 ${response.status} ${STATUS_CODES[response.status] ?? ""}\r\n${headers}\r\n${body}`);
  return response.status;
}
