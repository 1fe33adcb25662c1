/** Serves a request for a mount. It is authenticated and limited as one for a route is (H4, H5). */
import type { IncomingMessage } from "node:http";
import type { Context } from "hono";
import { AptoveError } from "../../domain/errors.ts";
import type { AuthenticatedRequest } from "./admission/authentication.ts";
import { newRequestInfo, requestBegun, requestEnded, type RequestInfoBindings } from "./admission/request-info.ts";
import type { HandlerDependencies } from "./handlers/handler.ts";
import {
  refuseUpgrade,
  upgradeAsRequest,
  upgradeHeaders,
  type HttpMount,
  type MountedRequest,
  type UpgradeRequest,
} from "./mount.ts";
import { readBody } from "./request/body.ts";
import type { Serving } from "./serve-route.ts";

/** Returns the mount of a path. */
export function mountOf(mounts: readonly HttpMount[], path: string): HttpMount | undefined {
  return mounts.find((mount) =>
    mount.path.endsWith("/*") ? path.startsWith(mount.path.slice(0, -1)) : mount.path === path,
  );
}

function mounted(authenticated: AuthenticatedRequest, { engine, slots }: HandlerDependencies): MountedRequest {
  return {
    ...authenticated,
    takeRun: () => slots.take(authenticated.caller),
    watchKey: (onEnd) => engine.keys.watch(authenticated, onEnd),
  };
}

export async function serveMount(
  context: Context<RequestInfoBindings>,
  { door, authentication }: Serving,
  mount: HttpMount,
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

/** Passes a WebSocket on to its mount, or refuses it. Never rejects. */
export async function upgradeTo(
  mount: HttpMount | undefined,
  handshake: UpgradeRequest,
  { door, authentication }: Serving,
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

export function isWebSocket({ method, headers }: IncomingMessage): boolean {
  return method === "GET" && headers.upgrade?.toLowerCase() === "websocket";
}
