/** One request on its way through the door: what is known of it so far, for whoever watches and for the answer. */
import type { Caller } from "../../domain/caller.ts";
import type { ErrorCode } from "../../domain/errors.ts";
import type { RequestBegun, RequestEnded } from "../../telemetry/observer.ts";
import { requestIdOf } from "./request-id.ts";

export interface Visit {
  readonly requestId: string;
  route: string | null;
  caller: Caller | null;
  code: ErrorCode | null;
}

/** In the form in which the router hands it on. */
export interface VisitBindings {
  Bindings: { visit: Visit };
}

export function newVisit({ headers }: Pick<Request, "headers">): Visit {
  return { requestId: requestIdOf(headers), route: null, caller: null, code: null };
}

export function visitBegun(
  { requestId }: Visit,
  { method, headers }: Pick<Request, "method" | "headers">,
): RequestBegun {
  return { requestId, method, traceparent: headers.get("traceparent"), tracestate: headers.get("tracestate") };
}

export function visitEnded({ route, code, caller }: Visit, status: number): RequestEnded {
  return { route, status, code, caller };
}
