/**
 * The HTTP door (H1–H5): checks who asks and what, calls the engine, and maps the outcome. It decides
 * nothing. It is a function from a request to an answer, so it needs no socket; `listen` gives it one.
 */
import type { IncomingMessage } from "node:http";
import { Hono } from "hono";
import type { Context } from "hono";
import type { Caller } from "../../domain/caller.ts";
import { AptoveError } from "../../domain/errors.ts";
import { isId } from "../../domain/ids.ts";
import { limits as defaults } from "../../domain/limits.ts";
import type { Engine } from "../../engine/engine.ts";
import { parseWithSchema } from "../../protocol/parse.ts";
import { paths } from "../../protocol/routes/paths.ts";
import type { RouteName } from "../../protocol/routes/paths.ts";
import { routes } from "../../protocol/routes/routes.ts";
import { takesBody } from "../../protocol/routes/route-spec.ts";
import type { RouteSpec } from "../../protocol/routes/routes.ts";
import { z } from "zod";
import { noObserver } from "../../telemetry/observer.ts";
import type { Observer } from "../../telemetry/observer.ts";
import { isUnread, readBody, readJson } from "./request/body.ts";
import type { Call, Door, Handler, Handlers, HttpLimits } from "./handlers/call.ts";
import { deviceHandlers } from "./handlers/devices.ts";
import { createAuthentication } from "./admission/authentication.ts";
import type { Authentication, AuthenticatedRequest } from "./admission/authentication.ts";
import { executeHandler } from "./handlers/execute.ts";
import { contextHandlers } from "./handlers/contexts.ts";
import { corsHeaders, preflightHeaders } from "./admission/guard.ts";
import { handshakeHeaders, handshakeRequest, refuseHandshake } from "./mount.ts";
import type { Handshake, Mount } from "./mount.ts";
import { mailboxHandlers } from "./handlers/mailbox.ts";
import { peopleHandlers } from "./handlers/people.ts";
import { problemAnswer } from "./problem-answer.ts";
import { readQuery } from "./request/query.ts";
import { RunSlots } from "./admission/quotas.ts";
import { serverHandlers } from "./handlers/server.ts";
import { sessionHandlers } from "./handlers/sessions.ts";
import { streamHandlers } from "./handlers/streams.ts";
import { transferHandlers } from "./handlers/transfer.ts";
import { treeHandlers } from "./handlers/tree.ts";
import { turnHandlers } from "./handlers/turns.ts";
import { newRequestInfo, visitBegun, visitEnded } from "./admission/request-info.ts";
import type { RequestInfo, RequestInfoBindings } from "./admission/request-info.ts";

export interface HttpDoorOptions {
  engine: Engine;
  /** Who a key's secret belongs to, or null; absent: the engine's key ring. */
  authenticate?: (secret: string) => Promise<Caller | null>;
  limits?: Partial<HttpLimits>;
  /** Names beside the loopback ones under which the server is reached, with or without a port (H4). */
  allowedHosts?: readonly string[];
  /** Other origins whose pages may call, for example `https://example.org`. */
  allowedOrigins?: readonly string[];
  heartbeatMs?: number;
  /** Milliseconds, for the request rate. */
  now?: () => number;
  /** For faults of our own. */
  report: (message: string, error?: unknown) => void;
  /** Told of every request. */
  observer?: Observer;
  mounts?: readonly Mount[];
}

export interface HttpDoor {
  /** Never rejects. */
  fetch(request: Request): Promise<Response>;
  /** Whether somebody here takes WebSockets at this address. */
  takesUpgrade(incoming: IncomingMessage): boolean;
  /** Hands a WebSocket over, or refuses it. Never rejects. */
  upgrade(handshake: Handshake): Promise<void>;
}

export function httpDoor(options: HttpDoorOptions): HttpDoor {
  const door = doorOf(options);
  const entrance = createAuthentication({
    authenticate: options.authenticate ?? ((secret) => options.engine.keys.authenticate(secret)),
    allowedHosts: options.allowedHosts ?? [],
    allowedOrigins: options.allowedOrigins ?? [],
    requestsPerMinuteMax: door.limits.requestsPerMinuteMax,
    takeRequest: (caller) => options.engine.takeRequest(caller),
    now: options.now ?? (() => performance.now()),
  });
  const app = new Hono<RequestInfoBindings>();
  const handlers: Handlers<RouteName> = {
    ...executeHandler(door),
    ...sessionHandlers(door),
    ...treeHandlers(door),
    ...transferHandlers(door),
    ...turnHandlers(door),
    ...mailboxHandlers(door),
    ...streamHandlers(door),
    ...serverHandlers(door),
    ...deviceHandlers(door),
    ...contextHandlers(door),
    ...peopleHandlers(door),
  };
  const methods = new Map<string, string[]>();
  for (const [name, { method, path }] of Object.entries(paths) as [RouteName, (typeof paths)[RouteName]][]) {
    const pattern = path.replaceAll(/\{(\w+)\}/g, ":$1");
    app.on(method, pattern, (context) =>
      serve(context, { name, door, entrance, handler: handlers[name] as Handler<never> }),
    );
    methods.set(pattern, [...(methods.get(pattern) ?? []), ...(method === "GET" ? ["GET", "HEAD"] : [method])]);
  }
  const mounts = new Map((options.mounts ?? []).map((mount) => [mount.path as string, mount]));
  for (const mount of mounts.values()) {
    app.on([...mount.methods], mount.path, (context) => serveMount(context, mount, entrance));
    methods.set(mount.path, [...mount.methods]);
  }
  for (const [pattern, allowed] of methods) app.all(pattern, (context) => otherMethod(context, entrance, allowed));
  app.notFound(async ({ req }) => {
    await entrance.identify(req.raw);
    throw new AptoveError("not_found", `there is no route ${JSON.stringify(req.path)}`);
  });
  app.onError((error, { env }) => problemAnswer(error, env.visit, door.report));
  const mountAt = (incoming: IncomingMessage) => mounts.get((incoming.url ?? "").split("?")[0] ?? "");
  return {
    fetch: (request) => {
      const visit = newRequestInfo(request);
      const activity = door.observer.request(visitBegun(visit, request));
      return activity.within(async () => {
        const response = await enter(request, { visit, app, entrance, door });
        activity.end(visitEnded(visit, response.status));
        return response;
      });
    },
    takesUpgrade: (incoming) => isWebSocket(incoming) && mountAt(incoming) !== undefined,
    upgrade: (handshake) => upgrade(handshake, { mount: mountAt(handshake.incoming), entrance, door }),
  };
}

function isWebSocket({ method, headers }: IncomingMessage): boolean {
  return method === "GET" && headers.upgrade?.toLowerCase() === "websocket";
}

const defaultLimits: HttpLimits = {
  requestBodyBytesMax: defaults.requestBodyBytesMax,
  importBytesMax: defaults.importBytesMax,
  activeFilesPerTurnMax: defaults.activeFilesPerTurnMax,
  concurrentRunsPerUserMax: defaults.concurrentRunsPerUserMax,
  requestsPerMinuteMax: defaults.requestsPerMinuteMax,
};

function doorOf(options: HttpDoorOptions): Door {
  const { engine, heartbeatMs = defaults.heartbeatMs } = options;
  const { report, observer = noObserver } = options;
  const limits = { ...defaultLimits, ...options.limits };
  return { engine, limits, heartbeatMs, slots: new RunSlots(limits.concurrentRunsPerUserMax), report, observer };
}

/** What holds for every request and every answer, whatever the route. */
async function enter(
  request: Request,
  {
    visit,
    app,
    entrance,
    door,
  }: { visit: RequestInfo; app: Hono<RequestInfoBindings>; entrance: Authentication; door: Door },
): Promise<Response> {
  let origin: string | null = null;
  let response: Response;
  try {
    origin = entrance.checkOrigin(request);
    response = await app.fetch(request, { visit });
  } catch (error) {
    response = problemAnswer(error, visit, door.report);
  }
  const headers = new Headers(response.headers);
  headers.set("cache-control", "no-store");
  headers.set("x-content-type-options", "nosniff");
  headers.set("x-request-id", visit.requestId);
  // What is left of the body would stand before the next request on the connection, and hold it up.
  if (isUnread(request)) headers.set("connection", "close");
  if (origin !== null) for (const [name, value] of Object.entries(corsHeaders(origin))) headers.set(name, value);
  return new Response(response.body, { status: response.status, headers });
}

interface Serving {
  name: RouteName;
  door: Door;
  entrance: Authentication;
  handler: Handler<never>;
}

async function serve(
  context: Context<RequestInfoBindings>,
  { name, door, entrance, handler }: Serving,
): Promise<Response> {
  const request = context.req.raw;
  const { visit } = context.env;
  const spec: RouteSpec = routes[name];
  visit.route = paths[name].path;
  const visitor = await visitorOf(request, spec, entrance);
  if (visitor === null && takesBody(spec)) entrance.countStranger();
  // For the audit log, which says by which request something was done.
  const caller = visitor === null ? null : { ...visitor.caller, requestId: visit.requestId };
  visit.caller = caller;
  const id = context.req.param("id") ?? "";
  if (paths[name].path.includes("{id}") && !isId(id)) {
    throw new AptoveError("not_found", `${JSON.stringify(id)} is not an id`);
  }
  const params = paramsOf(spec, context);
  // A route that takes other bodies than JSON reads its own; and its query, if that stands for a body.
  const { body: json, otherBodies } = spec;
  const hasOwnQuery = json !== undefined && otherBodies !== undefined;
  const query = hasOwnQuery ? undefined : parseWithSchema(spec.query ?? z.strictObject({}), readQuery(request, []));
  const readsJson = json !== undefined && otherBodies === undefined;
  const body = readsJson ? parseWithSchema(json, await readJson(request, door.limits.requestBodyBytesMax)) : undefined;
  const watchKey: Call<never>["watchKey"] = (onEnd) =>
    visitor === null ? () => undefined : door.engine.keys.watch(visitor, onEnd);
  const answered = await handler({ request, caller, watchKey, id, params, query, body } as Call<never>);
  // The router leaves the body of a HEAD away; a stream that nobody ever reads would stay open.
  if (request.method === "HEAD") await answered.body?.cancel();
  return answered;
}

function paramsOf({ params }: RouteSpec, context: Context): object {
  if (params === undefined) return {};
  const read = params.safeParse(context.req.param());
  if (read.success) return read.data;
  throw new AptoveError("not_found", `there is nothing at ${JSON.stringify(context.req.path)}`);
}

/** Of an open route nobody, unless it tells more to some. */
async function visitorOf(
  request: Request,
  spec: RouteSpec,
  entrance: Authentication,
): Promise<AuthenticatedRequest | null> {
  if (spec.access !== "open") return await entrance.identify(request);
  if (spec.greets !== true) return null;
  // Who cannot be told by now, be it that the records do not answer, is a stranger.
  return request.headers.has("authorization") ? await entrance.identify(request).catch(() => null) : null;
}

async function serveMount(
  context: Context<RequestInfoBindings>,
  mount: Mount,
  entrance: Authentication,
): Promise<Response> {
  const { visit } = context.env;
  const request = context.req.raw;
  visit.route = mount.path;
  const visitor = await entrance.identify(request);
  visit.caller = visitor.caller;
  if (request.body === null) return await mount.fetch(request, visitor);
  const body = Buffer.from(await readBody(request, mount.bodyBytesMax));
  const { url, method, headers, signal } = request;
  return await mount.fetch(new Request(url, { method, headers, signal, body }), visitor);
}

async function upgrade(
  handshake: Handshake,
  { mount, entrance, door }: { mount: Mount | undefined; entrance: Authentication; door: Door },
): Promise<void> {
  // Until somebody has it, its errors are nobody's.
  handshake.socket.on("error", () => handshake.socket.destroy());
  const headers = handshakeHeaders(handshake);
  const visit = { ...newRequestInfo({ headers }), route: mount?.path ?? null };
  const activity = door.observer.request(visitBegun(visit, { method: "GET", headers }));
  try {
    const request = handshakeRequest(handshake, headers);
    entrance.checkOrigin(request);
    const visitor = await entrance.identify(request);
    visit.caller = visitor.caller;
    if (mount === undefined) throw new AptoveError("not_found", "nobody takes WebSockets there");
    await mount.upgrade(handshake, visitor);
    activity.end(visitEnded(visit, 101));
  } catch (error) {
    const status = await refuseHandshake(handshake, { thrown: error, visit, report: door.report });
    activity.end(visitEnded(visit, status));
  }
}

/** A known path with a method that it does not have, and the questions that browsers ask before they call. */
async function otherMethod(
  { req }: Context<RequestInfoBindings>,
  entrance: Authentication,
  allowed: string[],
): Promise<Response> {
  const allow = [...allowed, "OPTIONS"].join(", ");
  const origin = entrance.checkOrigin(req.raw);
  const isPreflight = req.method === "OPTIONS" && req.header("access-control-request-method") !== undefined;
  // A preflight cannot carry a key; it is answered to origins that are allowed by name.
  if (isPreflight && origin !== null) {
    return new Response(null, { status: 204, headers: { allow, ...preflightHeaders(origin, allow) } });
  }
  await entrance.identify(req.raw);
  if (req.method === "OPTIONS") return new Response(null, { status: 204, headers: { allow } });
  throw new AptoveError("method_not_allowed", `${req.method} is not among ${allow}`, { facts: { allow } });
}
