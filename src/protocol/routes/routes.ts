/**
 * The table of all HTTP routes with their requests and responses. The server registers its handlers from this table,
 * OpenAPI is generated from it, and the client's types are inferred from it, so the three cannot disagree (H2).
 */
import type * as z from "zod";
import { contextRoutes } from "./context.ts";
import { memoryRoutes } from "./memory.ts";
import type { RouteName } from "./paths.ts";
import type { RouteSpec } from "./route-spec.ts";
import { peopleRoutes } from "./people.ts";
import { serverRoutes } from "./server.ts";
import { sessionRoutes } from "./session.ts";
import { summaryRoutes } from "./summary.ts";
import { turnRoutes } from "./turn.ts";
import { workspaceRoutes } from "./workspaces.ts";

export type { RouteAccess, RouteSpec } from "./route-spec.ts";

export const routes = {
  ...turnRoutes,
  ...sessionRoutes,
  ...summaryRoutes,
  ...peopleRoutes,
  ...serverRoutes,
  ...contextRoutes,
  ...workspaceRoutes,
  ...memoryRoutes,
} as const satisfies Record<RouteName, RouteSpec>;

export type RouteTable = typeof routes;

/** The parameters of a route's path other than `{id}`. */
export type ParamsOf<N extends RouteName> = RouteTable[N] extends { params: infer S extends z.ZodType }
  ? z.output<S>
  : {};
/** The JSON answer of a route. Void if the route answers in another form. */
export type AnswerOf<N extends RouteName> = RouteTable[N] extends { answer: infer S extends z.ZodType }
  ? z.infer<S>
  : void;
/** The body of a route's request in the form that clients send. */
export type BodyOf<N extends RouteName> = RouteTable[N] extends { body: infer S extends z.ZodType }
  ? z.input<S>
  : undefined;
/** The body of a route's request after it was parsed. */
export type ReadBodyOf<N extends RouteName> = RouteTable[N] extends { body: infer S extends z.ZodType }
  ? z.output<S>
  : undefined;
export type QueryOf<N extends RouteName> = RouteTable[N] extends { query: infer S extends z.ZodType }
  ? z.output<S>
  : undefined;
