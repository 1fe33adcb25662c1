/** The input and the output of a route's handler. */
import type { Caller } from "../../../domain/caller.ts";
import type { Engine } from "../../../engine/engine.ts";
import {
  routes,
  type AnswerOf,
  type ParamsOf,
  type QueryOf,
  type ReadBodyOf,
  type RouteSpec,
  type RouteTable,
} from "../../../protocol/routes/routes.ts";
import type { RouteName } from "../../../protocol/routes/paths.ts";
import type { ConnectionSlots } from "../../connection-slots.ts";
import type { ReportFault } from "../problem-answer.ts";
import type { Observer } from "../../../telemetry/observer.ts";
import type { RunSlotLimits, RunSlots } from "../admission/quotas.ts";

export interface HttpLimits extends RunSlotLimits {
  requestBodyBytesMax: number;
  importBytesMax: number;
  activeFilesPerTurnMax: number;
  requestsPerMinuteMax: number;
  /** The streams of news that one user may have open. */
  newsListenersPerUserMax: number;
}

/** What all handlers share. */
export interface HandlerDependencies {
  engine: Engine;
  limits: HttpLimits;
  heartbeatMs: number;
  slots: RunSlots;
  /** Counts the open streams of news. */
  listeners: ConnectionSlots;
  /** Reports internal faults. */
  report: ReportFault;
  observer: Observer;
}

/** A checked request to a route. */
export interface RouteCall<N extends RouteName> {
  request: Request;
  /** The user who sent the request. Null on an open route, and on one that greets if the request has no valid key. */
  caller: RouteTable[N] extends { greets: true }
    ? Caller | null
    : RouteTable[N]["access"] extends "open"
      ? null
      : Caller;
  /** Calls `onEnd` once when the caller's key becomes invalid, for a response that stays open. Returns a function that ends the watch. */
  watchKey(onEnd: () => void): () => void;
  /** The `{id}` of the path, checked to be an id. Empty if the path has none. */
  id: string;
  params: ParamsOf<N>;
  query: QueryOf<N>;
  body: ReadBodyOf<N>;
}

/** The client that reads a response that stays open. */
export type StreamListener = Pick<RouteCall<RouteName>, "request" | "watchKey">;

export type RouteHandler<N extends RouteName> = (call: RouteCall<N>) => Promise<Response>;
export type RouteHandlers<N extends RouteName> = { [K in N]: RouteHandler<K> };

/** Creates the route's JSON response, with its status. */
export function answer<N extends RouteName>(
  name: N,
  value: AnswerOf<N>,
  headers: Record<string, string> = {},
): Response {
  const { status } = routes[name] as RouteSpec;
  return Response.json(value, { status, headers });
}
