/**
 * The HTTP door (H1–H5). It authenticates and checks a request, calls the engine, and turns the outcome into a response. It
 * makes no decisions of its own. It is a function from a request to a response and needs no socket; `listen` gives it one.
 */
import type { IncomingMessage } from "node:http";
import { ConnectionSlots } from "../connection-slots.ts";
import type { PageFiles } from "./page/page-files.ts";
import { pageAsset, pageDocument, wantsHtml } from "./page/serve-page.ts";
import { Hono, type Context } from "hono";
import type { Caller } from "../../domain/caller.ts";
import { withinMs } from "../../system/abort.ts";
import { AptoveError } from "../../domain/errors.ts";
import { isId } from "../../domain/ids.ts";
import { limits as defaults } from "../../domain/limits.ts";
import type { Engine } from "../../engine/engine.ts";
import { parseWithSchema } from "../../protocol/parse.ts";
import { assetsPath, pagePaths } from "../../protocol/page-paths.ts";
import { paths, type RouteName } from "../../protocol/routes/paths.ts";
import { routes, type RouteSpec } from "../../protocol/routes/routes.ts";
import { takesBody } from "../../protocol/routes/route-spec.ts";
import * as z from "zod";
import { noObserver, type Observer } from "../../telemetry/observer.ts";
import { isUnread, readBody, readJson } from "./request/body.ts";
import type { RouteCall, HandlerDependencies, RouteHandler, RouteHandlers, HttpLimits } from "./handlers/handler.ts";
import { deviceHandlers } from "./handlers/devices.ts";
import { createAuthentication, type Authentication, type AuthenticatedRequest } from "./admission/authentication.ts";
import { executeHandler } from "./handlers/execute.ts";
import { contextHandlers } from "./handlers/contexts.ts";
import { memoryHandlers } from "./handlers/memory.ts";
import { pageHeader } from "./admission/page-cookie.ts";
import { corsHeaders, preflightHeaders } from "./admission/origin-guard.ts";
import {
  upgradeHeaders,
  upgradeAsRequest,
  refuseUpgrade,
  type HttpMount,
  type MountedRequest,
  type UpgradeRequest,
} from "./mount.ts";
import { mailboxHandlers } from "./handlers/mailbox.ts";
import { pinHandlers } from "./handlers/pins.ts";
import { budgetHandlers } from "./handlers/budgets.ts";
import { peopleHandlers } from "./handlers/people.ts";
import { problemAnswer, type RefusalForm } from "./problem-answer.ts";
import { readQuery } from "./request/query.ts";
import { RunSlots } from "./admission/quotas.ts";
import { serverHandlers } from "./handlers/server.ts";
import { indexHandlers } from "./handlers/indexes.ts";
import { offerHandlers } from "./handlers/offers.ts";
import { signInHandlers } from "./handlers/sign-in.ts";
import { sessionHandlers } from "./handlers/sessions.ts";
import { streamHandlers } from "./handlers/streams.ts";
import { summaryHandlers } from "./handlers/summaries.ts";
import { transferHandlers } from "./handlers/transfer.ts";
import { treeHandlers } from "./handlers/tree.ts";
import { turnHandlers } from "./handlers/turns.ts";
import { workspaceHandlers } from "./handlers/workspaces.ts";
import {
  newRequestInfo,
  requestBegun,
  requestEnded,
  type RequestInfo,
  type RequestInfoBindings,
} from "./admission/request-info.ts";

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
  const door = doorOf(options);
  const authentication = createAuthentication({
    authenticate: options.authenticate ?? ((secret) => options.engine.keys.authenticate(secret)),
    allowedHosts: options.allowedHosts ?? [],
    allowedOrigins: options.allowedOrigins ?? [],
    requestsPerMinuteMax: door.limits.requestsPerMinuteMax,
    takeRequest: (caller) => options.engine.takeRequest(caller),
    now: options.now ?? (() => performance.now()),
  });
  const app = new Hono<RequestInfoBindings>();
  const handlers: RouteHandlers<RouteName> = {
    ...executeHandler(door),
    ...sessionHandlers(door),
    ...treeHandlers(door),
    ...transferHandlers(door),
    ...summaryHandlers(door),
    ...turnHandlers(door),
    ...mailboxHandlers(door),
    ...pinHandlers(door),
    ...streamHandlers(door),
    ...serverHandlers(door),
    ...deviceHandlers(door),
    ...signInHandlers(door),
    ...indexHandlers(door),
    ...offerHandlers(door),
    ...contextHandlers(door),
    ...workspaceHandlers(door),
    ...memoryHandlers(door),
    ...peopleHandlers(door),
    ...budgetHandlers(door),
  };
  const methods = new Map<string, string[]>();
  for (const [name, { method, path }] of Object.entries(paths) as [RouteName, (typeof paths)[RouteName]][]) {
    const pattern = path.replaceAll(/\{(\w+)\}/g, ":$1");
    app.on(method, pattern, (context) =>
      serve(context, { name, door, authentication, handler: handlers[name] as RouteHandler<never> }),
    );
    methods.set(pattern, [...(methods.get(pattern) ?? []), ...(method === "GET" ? ["GET", "HEAD"] : [method])]);
  }
  for (const path of servePage(app, options.page ?? null)) methods.set(path, ["GET", "HEAD"]);
  const { mounts = [] } = options;
  for (const mount of mounts) {
    app.on([...mount.methods], mount.path, (context) => serveMount(context, { mount, authentication, door }));
    methods.set(mount.path, [...mount.methods]);
  }
  for (const [pattern, allowed] of methods)
    app.all(pattern, (context) => otherMethod(context, authentication, allowed));
  app.notFound(async ({ req }) => {
    // A person who follows a wrong link sees the page, which says so. Programs ask for no HTML.
    const isMistaken = req.method === "GET" && wantsHtml(req.raw) && !req.path.startsWith("/api/");
    if (isMistaken && options.page != null) return pageDocument(options.page, req.raw, 404);
    await authentication.identify(req.raw);
    throw new AptoveError("not_found", `there is no route ${JSON.stringify(req.path)}`);
  });
  const formAt = (path: string) => mountOf(mounts, path)?.refusal;
  app.onError((error, { env, req }) => problemAnswer(error, env.info, { report: door.report, form: formAt(req.path) }));
  const mountAt = (incoming: IncomingMessage) => mountOf(mounts, (incoming.url ?? "").split("?")[0] ?? "");
  return {
    fetch: (request) => {
      const info = newRequestInfo(request);
      const activity = door.observer.request(requestBegun(info, request));
      return activity.within(async () => {
        const form = formAt(new URL(request.url).pathname);
        const response = await enter(request, { info, app, authentication, door, form });
        activity.end(requestEnded(info, response.status));
        return response;
      });
    },
    takesUpgrade: (incoming) => isWebSocket(incoming) && mountAt(incoming) !== undefined,
    upgrade: (handshake) => upgrade(handshake, { mount: mountAt(handshake.incoming), authentication, door }),
  };
}

/** Serves the page, and returns its paths. */
function servePage(app: Hono<RequestInfoBindings>, files: PageFiles | null): string[] {
  const assets = `${assetsPath}:name`;
  for (const path of Object.values(pagePaths)) {
    app.get(path, ({ req, env }) => ((env.info.route = path), pageDocument(files, req.raw)));
  }
  app.get(assets, ({ req, env }) => ((env.info.route = assets), pageAsset(files, req.param("name") ?? "", req.raw)));
  return [...Object.values(pagePaths), assets];
}

function isWebSocket({ method, headers }: IncomingMessage): boolean {
  return method === "GET" && headers.upgrade?.toLowerCase() === "websocket";
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

interface Entering {
  info: RequestInfo;
  app: Hono<RequestInfoBindings>;
  authentication: Authentication;
  door: HandlerDependencies;
  form: RefusalForm | undefined;
}

/** Handles what every request and every response has in common: the origin, errors and headers. */
async function enter(request: Request, { info, app, authentication, door, form }: Entering): Promise<Response> {
  let origin: string | null = null;
  let response: Response;
  try {
    origin = authentication.checkOrigin(request);
    response = await app.fetch(request, { info });
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

interface RouteServing {
  name: RouteName;
  door: HandlerDependencies;
  authentication: Authentication;
  handler: RouteHandler<never>;
}

async function serve(
  context: Context<RequestInfoBindings>,
  { name, door, authentication, handler }: RouteServing,
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
  return await withinMs(defaults.healthAnswerMs, authentication.identify(request, { page: true })).catch(() => null);
}

/** Returns the mount of a path. */
function mountOf(mounts: readonly HttpMount[], path: string): HttpMount | undefined {
  return mounts.find((mount) =>
    mount.path.endsWith("/*") ? path.startsWith(mount.path.slice(0, -1)) : mount.path === path,
  );
}

interface MountServing {
  mount: HttpMount;
  authentication: Authentication;
  door: HandlerDependencies;
}

function mounted(authenticated: AuthenticatedRequest, { engine, slots }: HandlerDependencies): MountedRequest {
  return {
    ...authenticated,
    takeRun: () => slots.take(authenticated.caller),
    watchKey: (onEnd) => engine.keys.watch(authenticated, onEnd),
  };
}

async function serveMount(
  context: Context<RequestInfoBindings>,
  { mount, authentication, door }: MountServing,
): Promise<Response> {
  const { info } = context.env;
  const request = context.req.raw;
  info.route = mount.path;
  const identified = await authentication.identify(request);
  info.caller = identified.caller;
  const authenticated = mounted(identified, door);
  if (request.body === null) return await mount.fetch(request, authenticated);
  const body = Buffer.from(await readBody(request, mount.bodyBytesMax));
  const { url, method, headers, signal } = request;
  return await mount.fetch(new Request(url, { method, headers, signal, body }), authenticated);
}

async function upgrade(
  handshake: UpgradeRequest,
  {
    mount,
    authentication,
    door,
  }: { mount: HttpMount | undefined; authentication: Authentication; door: HandlerDependencies },
): Promise<void> {
  // Until a mount takes the socket over, nothing else handles its errors.
  handshake.socket.on("error", () => handshake.socket.destroy());
  const headers = upgradeHeaders(handshake);
  const info = { ...newRequestInfo({ headers }), route: mount?.path ?? null };
  const activity = door.observer.request(requestBegun(info, { method: "GET", headers }));
  try {
    const request = upgradeAsRequest(handshake, headers);
    authentication.checkOrigin(request);
    const authenticated = await authentication.identify(request);
    info.caller = authenticated.caller;
    if (mount === undefined) throw new AptoveError("not_found", "no WebSocket is served at this address");
    await mount.upgrade(handshake, mounted(authenticated, door));
    activity.end(requestEnded(info, 101));
  } catch (error) {
    const status = await refuseUpgrade(handshake, {
      thrown: error,
      info,
      report: door.report,
      form: mount?.refusal,
    });
    activity.end(requestEnded(info, status));
  }
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
    return new Response(null, { status: 204, headers: { allow, ...preflightHeaders(origin, allow) } });
  }
  await authentication.identify(req.raw);
  if (req.method === "OPTIONS") return new Response(null, { status: 204, headers: { allow } });
  throw new AptoveError("method_not_allowed", `${req.method} is not one of ${allow}`, { facts: { allow } });
}
