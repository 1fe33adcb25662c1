/** Serves a request for a route: authenticates it, parses it by the schema of the route, and calls the handler. */
import type { Context } from "hono";
import * as z from "zod";
import { AptoveError } from "../../domain/errors.ts";
import { isId } from "../../domain/ids.ts";
import { limits } from "../../domain/limits.ts";
import { parseWithSchema } from "../../protocol/parse.ts";
import { paths, type RouteName } from "../../protocol/routes/paths.ts";
import { takesBody } from "../../protocol/routes/route-spec.ts";
import { routes, type RouteSpec } from "../../protocol/routes/routes.ts";
import { withinMs } from "../../system/abort.ts";
import type { AuthenticatedRequest, Authentication } from "./admission/authentication.ts";
import { pageHeader } from "./admission/page-cookie.ts";
import type { RequestInfoBindings } from "./admission/request-info.ts";
import type { HandlerDependencies, RouteCall, RouteHandler } from "./handlers/handler.ts";
import { readJson } from "./request/body.ts";
import { readQuery } from "./request/query.ts";

/** What the door serves every request with. */
export interface Serving {
  door: HandlerDependencies;
  authentication: Authentication;
}

interface ServedRoute {
  name: RouteName;
  handler: RouteHandler<never>;
}

export async function serveRoute(
  context: Context<RequestInfoBindings>,
  { door, authentication }: Serving,
  { name, handler }: ServedRoute,
): Promise<Response> {
  const request = context.req.raw;
  const { info } = context.env;
  const spec: RouteSpec = routes[name];
  info.route = paths[name].path;
  const authenticated = await authenticateRequest(request, spec, authentication);
  if (authenticated === null && takesBody(spec)) authentication.countUnauthenticated();
  // The audit log records the request that caused each action.
  const caller = authenticated === null ? null : { ...authenticated.caller, requestId: info.requestId };
  info.caller = caller;
  const id = context.req.param("id") ?? "";
  if (paths[name].path.includes("{id}") && !isId(id)) {
    throw new AptoveError("not_found", `${JSON.stringify(id)} is not an id`);
  }
  const params = paramsOf(spec, context);
  // A route that also accepts bodies other than JSON reads its body itself. It reads its query too, which may have the body's fields.
  const { body: json, otherBodies } = spec;
  const hasOwnQuery = json !== undefined && otherBodies !== undefined;
  const query = hasOwnQuery ? undefined : parseWithSchema(spec.query ?? z.strictObject({}), readQuery(request, []));
  const readsJson = json !== undefined && otherBodies === undefined;
  const body = readsJson ? parseWithSchema(json, await readJson(request, door.limits.requestBodyBytesMax)) : undefined;
  const watchKey: RouteCall<never>["watchKey"] = (onEnd) =>
    authenticated === null ? () => undefined : door.engine.keys.watch(authenticated, onEnd);
  const answered = await handler({ request, caller, watchKey, id, params, query, body } as RouteCall<never>);
  // The router drops the body of a HEAD response. A stream that no client reads would stay open.
  if (request.method === "HEAD") await answered.body?.cancel();
  return answered;
}

function paramsOf({ params }: RouteSpec, context: Context): object {
  if (params === undefined) return {};
  const read = params.safeParse(context.req.param());
  if (read.success) return read.data;
  throw new AptoveError("not_found", `there is nothing at ${JSON.stringify(context.req.path)}`);
}

/** Authenticates the request. Returns null for an open route, unless it shows more to an authenticated caller. */
async function authenticateRequest(
  request: Request,
  spec: RouteSpec,
  authentication: Authentication,
): Promise<AuthenticatedRequest | null> {
  if (spec.access !== "open") return await authentication.identify(request, { page: true });
  if (spec.greets !== true) return null;
  const hasKey = request.headers.has("authorization") || request.headers.has(pageHeader);
  if (!hasKey) return null;
  // If authentication fails, even because the records do not answer in time, the request is anonymous.
  return await withinMs(limits.healthAnswerMs, authentication.identify(request, { page: true })).catch(() => null);
}
