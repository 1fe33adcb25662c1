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
import { parse } from "../../protocol/parse.ts";
import { paths } from "../../protocol/paths.ts";
import type { RouteName } from "../../protocol/paths.ts";
import { routes } from "../../protocol/routes.ts";
import { takesBody } from "../../protocol/route-spec.ts";
import type { RouteSpec } from "../../protocol/routes.ts";
import { z } from "zod";
import { isUnread, readBody, readJson } from "./body.ts";
import type { Call, Door, Handler, Handlers, HttpLimits } from "./call.ts";
import { deviceHandlers } from "./device-handlers.ts";
import { createEntrance } from "./entrance.ts";
import type { Entrance } from "./entrance.ts";
import { executeHandler } from "./execute-handler.ts";
import { contextHandlers } from "./context-handlers.ts";
import { corsHeaders, preflightHeaders } from "./guard.ts";
import { handshakeRequest, refuseHandshake } from "./mount.ts";
import type { Handshake, Mount } from "./mount.ts";
import { problemAnswer } from "./problem-answer.ts";
import { readQuery } from "./query.ts";
import { RunSlots } from "./quotas.ts";
import { serverHandlers } from "./server-handlers.ts";
import { sessionHandlers } from "./session-handlers.ts";
import { streamHandlers } from "./stream-handlers.ts";
import { transferHandlers } from "./transfer-handlers.ts";
import { treeHandlers } from "./tree-handlers.ts";
import { turnHandlers } from "./turn-handlers.ts";

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
  /** For faults of our own; absent: standard error. */
  report?: (message: string, error?: unknown) => void;
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
  const entrance = createEntrance({
    authenticate: options.authenticate ?? ((secret) => options.engine.keys.authenticate(secret)),
    allowedHosts: options.allowedHosts ?? [],
    allowedOrigins: options.allowedOrigins ?? [],
    requestsPerMinuteMax: door.limits.requestsPerMinuteMax,
    now: options.now ?? (() => performance.now()),
  });
  const app = new Hono();
  const handlers: Handlers<RouteName> = {
    ...executeHandler(door),
    ...sessionHandlers(door),
    ...treeHandlers(door),
    ...transferHandlers(door),
    ...turnHandlers(door),
    ...streamHandlers(door),
    ...serverHandlers(door),
    ...deviceHandlers(door),
    ...contextHandlers(door),
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
    app.on([...mount.methods], mount.path, (context) => serveMount(context.req.raw, mount, entrance));
    methods.set(mount.path, [...mount.methods]);
  }
  for (const [pattern, allowed] of methods) app.all(pattern, (context) => otherMethod(context, entrance, allowed));
  app.notFound(async ({ req }) => {
    await entrance.identify(req.raw);
    throw new AptoveError("not_found", `there is no route ${JSON.stringify(req.path)}`);
  });
  app.onError((error) => problemAnswer(error, door.report));
  const mountAt = (incoming: IncomingMessage) => mounts.get((incoming.url ?? "").split("?")[0] ?? "");
  return {
    fetch: (request) => enter(request, { app, entrance, door }),
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
  const report = options.report ?? reportToStderr;
  const limits = { ...defaultLimits, ...options.limits };
  return { engine, limits, heartbeatMs, slots: new RunSlots(limits.concurrentRunsPerUserMax), report };
}

/** What holds for every request and every answer, whatever the route. */
async function enter(
  request: Request,
  { app, entrance, door }: { app: Hono; entrance: Entrance; door: Door },
): Promise<Response> {
  let origin: string | null = null;
  let response: Response;
  try {
    origin = entrance.checkOrigin(request);
    response = await app.fetch(request);
  } catch (error) {
    response = problemAnswer(error, door.report);
  }
  const headers = new Headers(response.headers);
  headers.set("cache-control", "no-store");
  headers.set("x-content-type-options", "nosniff");
  // What is left of the body would stand before the next request on the connection, and hold it up.
  if (isUnread(request)) headers.set("connection", "close");
  if (origin !== null) for (const [name, value] of Object.entries(corsHeaders(origin))) headers.set(name, value);
  return new Response(response.body, { status: response.status, headers });
}

interface Serving {
  name: RouteName;
  door: Door;
  entrance: Entrance;
  handler: Handler<never>;
}

async function serve(context: Context, { name, door, entrance, handler }: Serving): Promise<Response> {
  const request = context.req.raw;
  const spec: RouteSpec = routes[name];
  const visitor = spec.access === "open" ? null : await entrance.identify(request);
  if (visitor === null && takesBody(spec)) entrance.countStranger();
  const caller = visitor?.caller ?? null;
  refuseRole(spec, caller);
  const id = context.req.param("id") ?? "";
  if (paths[name].path.includes("{id}") && !isId(id)) {
    throw new AptoveError("not_found", `${JSON.stringify(id)} is not an id`);
  }
  const params = paramsOf(spec, context);
  // A route that takes other bodies than JSON reads its own; and its query, if that stands for a body.
  const { body: json, otherBodies } = spec;
  const hasOwnQuery = json !== undefined && otherBodies !== undefined;
  const query = hasOwnQuery ? undefined : parse(spec.query ?? z.strictObject({}), readQuery(request, []));
  const readsJson = json !== undefined && otherBodies === undefined;
  const body = readsJson ? parse(json, await readJson(request, door.limits.requestBodyBytesMax)) : undefined;
  const watchKey: Call<never>["watchKey"] = (onEnd) =>
    visitor === null ? () => undefined : door.engine.keys.watch(visitor.secret, onEnd);
  return await handler({ request, caller, watchKey, id, params, query, body } as Call<never>);
}

function paramsOf({ params }: RouteSpec, context: Context): object {
  if (params === undefined) return {};
  const read = params.safeParse(context.req.param());
  if (read.success) return read.data;
  throw new AptoveError("not_found", `there is nothing at ${JSON.stringify(context.req.path)}`);
}

async function serveMount(request: Request, mount: Mount, entrance: Entrance): Promise<Response> {
  const visitor = await entrance.identify(request);
  if (request.body === null) return await mount.fetch(request, visitor);
  const body = Buffer.from(await readBody(request, mount.bodyBytesMax));
  const { url, method, headers, signal } = request;
  return await mount.fetch(new Request(url, { method, headers, signal, body }), visitor);
}

async function upgrade(
  handshake: Handshake,
  { mount, entrance, door }: { mount: Mount | undefined; entrance: Entrance; door: Door },
): Promise<void> {
  // Until somebody has it, its errors are nobody's.
  handshake.socket.on("error", () => handshake.socket.destroy());
  try {
    const request = handshakeRequest(handshake);
    entrance.checkOrigin(request);
    const visitor = await entrance.identify(request);
    if (mount === undefined) throw new AptoveError("not_found", "nobody takes WebSockets there");
    await mount.upgrade(handshake, visitor);
  } catch (error) {
    await refuseHandshake(handshake, error, door.report);
  }
}

function refuseRole({ access }: RouteSpec, caller: Caller | null): void {
  if (access === "write" && caller?.role === "reader") throw new AptoveError("forbidden", "a reader may not write");
  if (access === "admin" && caller?.role !== "admin") throw new AptoveError("forbidden", "only an admin may do this");
}

/** A known path with a method that it does not have, and the questions that browsers ask before they call. */
async function otherMethod({ req }: Context, entrance: Entrance, allowed: string[]): Promise<Response> {
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

function reportToStderr(message: string, error?: unknown): void {
  const detail = error instanceof Error ? (error.stack ?? error.message) : String(error ?? "");
  process.stderr.write(`aptove: ${message}${detail === "" ? "" : `: ${detail}`}\n`);
}
