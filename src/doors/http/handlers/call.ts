/** What every handler gets, and the ways to answer. */
import type { Caller } from "../../../domain/caller.ts";
import type { Engine } from "../../../engine/engine.ts";
import { routes } from "../../../protocol/routes/routes.ts";
import type {
  AnswerOf,
  ParamsOf,
  QueryOf,
  ReadBodyOf,
  RouteSpec,
  RouteTable,
} from "../../../protocol/routes/routes.ts";
import type { RouteName } from "../../../protocol/routes/paths.ts";
import type { Report } from "../problem-answer.ts";
import type { Observer } from "../../../telemetry/observer.ts";
import type { RunSlots } from "../admission/quotas.ts";

export interface HttpLimits {
  requestBodyBytesMax: number;
  importBytesMax: number;
  activeFilesPerTurnMax: number;
  concurrentRunsPerUserMax: number;
  requestsPerMinuteMax: number;
}

/** What the handlers share. */
export interface Door {
  engine: Engine;
  limits: HttpLimits;
  heartbeatMs: number;
  slots: RunSlots;
  /** For faults of our own. */
  report: Report;
  observer: Observer;
}

export interface Call<N extends RouteName> {
  request: Request;
  caller: RouteTable[N] extends { greets: true }
    ? Caller | null
    : RouteTable[N]["access"] extends "open"
      ? null
      : Caller;
  /** Calls once when the caller's key ends, for an answer that stays open. Gives what ends the watch. */
  watchKey(onEnd: () => void): () => void;
  /** The `{id}` of the path, known to be an id; empty where there is none. */
  id: string;
  params: ParamsOf<N>;
  query: QueryOf<N>;
  body: ReadBodyOf<N>;
}

/** Who reads an answer that stays open. */
export type Listener = Pick<Call<RouteName>, "request" | "watchKey">;

export type Handler<N extends RouteName> = (call: Call<N>) => Promise<Response>;
export type Handlers<N extends RouteName> = { [K in N]: Handler<K> };

/** The route's JSON answer, with its status. */
export function answer<N extends RouteName>(
  name: N,
  value: AnswerOf<N>,
  headers: Record<string, string> = {},
): Response {
  const { status } = routes[name] as RouteSpec;
  return Response.json(value, { status, headers });
}
