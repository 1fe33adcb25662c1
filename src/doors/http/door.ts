/**
 * The HTTP door (H1–H5). It authenticates and checks a request, calls the engine, and turns the outcome into a response. It
 * makes no decisions of its own. It is a function from a request to a response and needs no socket; `listen` gives it one.
 */
import type { IncomingMessage } from "node:http";
import { Hono, type Context } from "hono";
import type { Caller } from "../../domain/caller.ts";
import { AptoveError } from "../../domain/errors.ts";
import { limits as defaults } from "../../domain/limits.ts";
import type { Engine } from "../../engine/engine.ts";
import { assetsPath, pagePaths } from "../../protocol/page-paths.ts";
import { paths, type RouteName } from "../../protocol/routes/paths.ts";
import { noObserver, type Observer } from "../../telemetry/observer.ts";
import { ConnectionSlots } from "../connection-slots.ts";
import { createAuthentication, type Authentication } from "./admission/authentication.ts";
import { corsHeaders, preflightHeaders } from "./admission/origin-guard.ts";
import { RunSlots } from "./admission/quotas.ts";
import {
  newRequestInfo,
  requestBegun,
  requestEnded,
  type RequestInfo,
  type RequestInfoBindings,
} from "./admission/request-info.ts";
import { allHandlers } from "./handlers/all-handlers.ts";
import type { HandlerDependencies, HttpLimits, RouteHandler } from "./handlers/handler.ts";
import type { HttpMount, UpgradeRequest } from "./mount.ts";
import type { PageFiles } from "./page/page-files.ts";
import { pageAsset, pageDocument, wantsHtml } from "./page/serve-page.ts";
import { problemAnswer, type RefusalForm } from "./problem-answer.ts";
import { isUnread } from "./request/body.ts";
import { isWebSocket, mountOf, serveMount, upgradeTo } from "./serve-mount.ts";
import { serveRoute, type Serving } from "./serve-route.ts";

export interface HttpDoorOptions {
  engine: Engine;
  /** Returns the owner of a key's secret, or null. Default: the keys of the engine. */
  authenticate?: (secret: string) => Promise<Caller | null>;
  limits?: Partial<HttpLimits>;
  /** Host names that clients use for this server, beside the loopback names, with or without a port (H4). */
  allowedHosts?: readonly string[];
  /** Origins of web pages that may send requests, for example `https://example.org`. */
  allowedOrigins?: readonly string[];
  heartbeatMs?: number;
  /** Returns a time in milliseconds, for the rate limit. */
  now?: () => number;
  /** Reports internal faults. */
  report: (message: string, error?: unknown) => void;
  /** Receives the start and the end of every request. */
  observer?: Observer;
  mounts?: readonly HttpMount[];
  /** The files of the page. Null: it was not built. */
  page?: PageFiles | null;
}

export interface HttpDoor {
  /** Never rejects. */
  fetch(request: Request): Promise<Response>;
  /** Returns true if the server accepts WebSockets at this address. */
  takesUpgrade(incoming: IncomingMessage): boolean;
  /** Passes a WebSocket on to its mount, or refuses it. Never rejects. */
  upgrade(handshake: UpgradeRequest): Promise<void>;
}

export function httpDoor(options: HttpDoorOptions): HttpDoor {
  const { mounts = [] } = options;
  const door = doorOf(options);
  const serving: Serving = { door, authentication: authenticationOf(options, door.limits) };
  const router = routerOf(options, serving);
  const mountAt = (incoming: IncomingMessage) => mountOf(mounts, (incoming.url ?? "").split("?")[0] ?? "");
  return {
    fetch: (request) => {
      const info = newRequestInfo(request);
      const activity = door.observer.request(requestBegun(info, request));
      return activity.within(async () => {
        const form = mountOf(mounts, new URL(request.url).pathname)?.refusal;
        const response = await enter(request, serving, { info, router, form });
        activity.end(requestEnded(info, response.status));
        return response;
      });
    },
    takesUpgrade: (incoming) => isWebSocket(incoming) && mountAt(incoming) !== undefined,
    upgrade: (handshake) => upgradeTo(mountAt(handshake.incoming), handshake, serving),
  };
}

const defaultLimits: HttpLimits = {
  requestBodyBytesMax: defaults.requestBodyBytesMax,
  importBytesMax: defaults.importBytesMax,
  activeFilesPerTurnMax: defaults.activeFilesPerTurnMax,
  concurrentRunsPerUserMax: defaults.concurrentRunsPerUserMax,
  concurrentRunsOfOwnerMax: defaults.concurrentRunsPerUserMax,
  requestsPerMinuteMax: defaults.requestsPerMinuteMax,
  newsListenersPerUserMax: defaults.newsListenersPerUserMax,
};

function doorOf(options: HttpDoorOptions): HandlerDependencies {
  const { engine, heartbeatMs = defaults.heartbeatMs } = options;
  const { report, observer = noObserver } = options;
  const limits = { ...defaultLimits, ...options.limits };
  const listeners = new ConnectionSlots(limits.newsListenersPerUserMax, "streams of news");
  return { engine, limits, heartbeatMs, slots: new RunSlots(limits), listeners, report, observer };
}

function authenticationOf(options: HttpDoorOptions, { requestsPerMinuteMax }: HttpLimits): Authentication {
  const { engine, allowedHosts = [], allowedOrigins = [] } = options;
  return createAuthentication({
    authenticate: options.authenticate ?? ((secret) => engine.keys.authenticate(secret)),
    allowedHosts,
    allowedOrigins,
    requestsPerMinuteMax,
    takeRequest: (caller) => engine.takeRequest(caller),
    now: options.now ?? (() => performance.now()),
  });
}

/** Returns what finds the handler of a request: the routes, the page, the mounts, and an answer to every other address. */
function routerOf({ mounts = [], page = null }: HttpDoorOptions, serving: Serving): Hono<RequestInfoBindings> {
  const { door, authentication } = serving;
  const router = new Hono<RequestInfoBindings>();
  const methods = new Map<string, string[]>();
  const handlers = allHandlers(door);
  for (const [name, { method, path }] of Object.entries(paths) as [RouteName, (typeof paths)[RouteName]][]) {
    const pattern = path.replaceAll(/\{(\w+)\}/g, ":$1");
    const handler = handlers[name] as RouteHandler<never>;
    router.on(method, pattern, (context) => serveRoute(context, serving, { name, handler }));
    methods.set(pattern, [...(methods.get(pattern) ?? []), ...(method === "GET" ? ["GET", "HEAD"] : [method])]);
  }
  for (const path of servePage(router, page)) methods.set(path, ["GET", "HEAD"]);
  for (const mount of mounts) {
    router.on([...mount.methods], mount.path, (context) => serveMount(context, serving, mount));
    methods.set(mount.path, [...mount.methods]);
  }
  for (const [pattern, allowed] of methods) {
    router.all(pattern, (context) => otherMethod(context, authentication, allowed));
  }
  router.notFound(async ({ req }) => {
    // A person who follows a wrong link sees the page, which says so. Programs ask for no HTML.
    const isMistaken = req.method === "GET" && wantsHtml(req.raw) && !req.path.startsWith("/api/");
    if (isMistaken && page !== null) return pageDocument(page, req.raw, 404);
    await authentication.identify(req.raw);
    throw new AptoveError("not_found", `there is no route ${JSON.stringify(req.path)}`);
  });
  router.onError((error, { env, req }) => {
    return problemAnswer(error, env.info, { report: door.report, form: mountOf(mounts, req.path)?.refusal });
  });
  return router;
}

/** Serves the page, and returns its paths. */
function servePage(router: Hono<RequestInfoBindings>, files: PageFiles | null): string[] {
  const assets = `${assetsPath}:name`;
  for (const path of Object.values(pagePaths)) {
    router.get(path, ({ req, env }) => ((env.info.route = path), pageDocument(files, req.raw)));
  }
  router.get(assets, ({ req, env }) => ((env.info.route = assets), pageAsset(files, req.param("name") ?? "", req.raw)));
  return [...Object.values(pagePaths), assets];
}

interface Entering {
  info: RequestInfo;
  router: Hono<RequestInfoBindings>;
  form: RefusalForm | undefined;
}

/** Handles what every request and every response has in common: the origin, errors and headers. */
async function enter(
  request: Request,
  { door, authentication }: Serving,
  { info, router, form }: Entering,
): Promise<Response> {
  let origin: string | null = null;
  let response: Response;
  try {
    origin = authentication.checkOrigin(request);
    response = await router.fetch(request, { info });
  } catch (error) {
    response = problemAnswer(error, info, { report: door.report, form });
  }
  const headers = new Headers(response.headers);
  if (!headers.has("cache-control")) headers.set("cache-control", "no-store");
  headers.set("x-content-type-options", "nosniff");
  headers.set("x-request-id", info.requestId);
  // The unread rest of the body would come before the next request on this connection and block it.
  if (isUnread(request)) headers.set("connection", "close");
  if (origin !== null) for (const [name, value] of Object.entries(corsHeaders(origin))) headers.set(name, value);
  return new Response(response.body, { status: response.status, headers });
}

/** Answers a known path with a method that it does not have, and the preflight requests of browsers. */
async function otherMethod(
  { req }: Context<RequestInfoBindings>,
  authentication: Authentication,
  allowed: string[],
): Promise<Response> {
  const allow = [...allowed, "OPTIONS"].join(", ");
  const origin = authentication.checkOrigin(req.raw);
  const isPreflight = req.method === "OPTIONS" && req.header("access-control-request-method") !== undefined;
  // A preflight request cannot carry a key. Only an allowed origin gets an answer to it.
  if (isPreflight && origin !== null) {
    const asked = req.raw.headers.get("access-control-request-headers");
    const headers = { allow, ...preflightHeaders(origin, { methods: allow, headers: asked }) };
    return new Response(null, { status: 204, headers });
  }
  await authentication.identify(req.raw);
  if (req.method === "OPTIONS") return new Response(null, { status: 204, headers: { allow } });
  throw new AptoveError("method_not_allowed", `${req.method} is not one of ${allow}`, { facts: { allow } });
}
