/**
 * Every HTTP route with what it takes and gives. The server registers from this table, OpenAPI is generated
 * from it, and the client's types are inferred from it, so the three cannot disagree (H2).
 */
import type { z } from "zod";
import { contextRoutes } from "./context.ts";
import type { RouteName } from "./paths.ts";
import type { RouteSpec } from "./route-spec.ts";
import { peopleRoutes } from "./people.ts";
import { serverRoutes } from "./server.ts";
import { sessionRoutes } from "./session.ts";
import { turnRoutes } from "./turn.ts";

export type { Access, RouteSpec } from "./route-spec.ts";

export const routes = {
  ...turnRoutes,
  ...sessionRoutes,
  ...peopleRoutes,
  ...serverRoutes,
  ...contextRoutes,
} as const satisfies Record<RouteName, RouteSpec>;

export type Routes = typeof routes;

/** Parameters of the path beside `{id}`. */
export type ParamsOf<N extends RouteName> = Routes[N] extends { params: infer S extends z.ZodType } ? z.output<S> : {};
/** What a route answers as JSON; void where it answers something else. */
export type AnswerOf<N extends RouteName> = Routes[N] extends { answer: infer S extends z.ZodType } ? z.infer<S> : void;
/** As clients write it. */
export type BodyOf<N extends RouteName> = Routes[N] extends { body: infer S extends z.ZodType }
  ? z.input<S>
  : undefined;
/** Once it is read. */
export type ReadBodyOf<N extends RouteName> = Routes[N] extends { body: infer S extends z.ZodType }
  ? z.output<S>
  : undefined;
export type QueryOf<N extends RouteName> = Routes[N] extends { query: infer S extends z.ZodType }
  ? z.output<S>
  : undefined;
