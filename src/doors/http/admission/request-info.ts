/** What the door knows about a request so far, for the observer and for the response. */
import type { Caller } from "../../../domain/caller.ts";
import type { ErrorCode } from "../../../domain/errors.ts";
import type { RequestBegun, RequestEnded } from "../../../telemetry/observer.ts";
import { requestIdOf } from "./request-id.ts";

export interface RequestInfo {
  readonly requestId: string;
  route: string | null;
  caller: Caller | null;
  code: ErrorCode | null;
}

/** The request information in the form in which the router passes it to handlers. */
export interface RequestInfoBindings {
  Bindings: { info: RequestInfo };
}

export function newRequestInfo({ headers }: Pick<Request, "headers">): RequestInfo {
  return { requestId: requestIdOf(headers), route: null, caller: null, code: null };
}

export function requestBegun(
  { requestId }: RequestInfo,
  { method, headers }: Pick<Request, "method" | "headers">,
): RequestBegun {
  return { requestId, method, traceparent: headers.get("traceparent"), tracestate: headers.get("tracestate") };
}

export function requestEnded({ route, code, caller }: RequestInfo, status: number): RequestEnded {
  return { route, status, code, caller };
}
