/** One request on its way through the door: what is known of it so far, for whoever watches and for the answer. */
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

/** In the form in which the router hands it on. */
export interface RequestInfoBindings {
  Bindings: { visit: RequestInfo };
}

export function newRequestInfo({ headers }: Pick<Request, "headers">): RequestInfo {
  return { requestId: requestIdOf(headers), route: null, caller: null, code: null };
}

export function visitBegun(
  { requestId }: RequestInfo,
  { method, headers }: Pick<Request, "method" | "headers">,
): RequestBegun {
  return { requestId, method, traceparent: headers.get("traceparent"), tracestate: headers.get("tracestate") };
}

export function visitEnded({ route, code, caller }: RequestInfo, status: number): RequestEnded {
  return { route, status, code, caller };
}
