/**
 * Prevents web pages from using the server (H4). A request of a page carries the page's `Origin`, which must be allowed. A
 * name that an attacker points at this machine (DNS rebinding) arrives as `Host`, which must be a name of this server. The
 * request needs a key too.
 */
import { AptoveError } from "../../../domain/errors.ts";
import { pageHeader } from "./page-cookie.ts";

const headerName = /^[\w!#$%&'*+.^`|~-]+$/;

/** Hosts that are always allowed, on any port: a browser never sends one of these for a name of an attacker. */
const loopbackNames = ["localhost", "127.0.0.1", "[::1]"];

export interface OriginGuard {
  /** Returns the origin that may read the response, or null if it is the server's own. Throws `origin_refused`. */
  check(request: Request): string | null;
}

/** Creates the guard. A host with a port is allowed on that port only, without one on any port. Origins are complete: `https://example.org`. */
export function createOriginGuard(allowed: { hosts: readonly string[]; origins: readonly string[] }): OriginGuard {
  const hosts = new Set([...loopbackNames, ...allowed.hosts].map((host) => host.toLowerCase()));
  const origins = new Set(allowed.origins.map((origin) => origin.toLowerCase().replace(/\/$/, "")));
  return {
    check: (request) => {
      const target = new URL(request.url).host;
      const host = (request.headers.get("host") ?? target).toLowerCase();
      // The request line may name a different host than the header.
      for (const named of [host, target]) {
        if (hosts.has(named) || hosts.has(hostName(named))) continue;
        throw new AptoveError(
          "origin_refused",
          `the host ${JSON.stringify(named)} is not served here; the operator can add it to serve.allowed_hosts`,
        );
      }
      const origin = request.headers.get("origin")?.toLowerCase() ?? null;
      if (origin === null || origin === `http://${host}` || origin === `https://${host}`) return null;
      if (origins.has(origin)) return origin;
      throw new AptoveError(
        "origin_refused",
        `pages of ${JSON.stringify(origin)} may not use this server; the operator can add it to serve.allowed_origins`,
      );
    },
  };
}

/** Returns the host without its port. A text that is no host is returned unchanged, and no allowed host equals it. */
function hostName(host: string): string {
  return /^(\[[0-9a-f:.]+\]|[^:[\]]+):\d{1,5}$/.exec(host)?.[1] ?? host;
}

/** Returns the headers that let a page of an allowed origin read the response. Other origins get none. */
export function corsHeaders(origin: string): Record<string, string> {
  return {
    "access-control-allow-origin": origin,
    "access-control-expose-headers": "retry-after, x-request-id, acp-connection-id, etag, location",
    vary: "origin",
  };
}

const usualHeaders =
  "authorization, content-type, idempotency-key, if-match, last-event-id, acp-connection-id, acp-session-id, x-aptove-device, x-request-id, traceparent, tracestate";

/** Returns the answer to a preflight request that asks for these headers. Clients bring headers of their own, and a key decides what they may do. */
export function preflightHeaders(
  origin: string,
  { methods, headers }: { methods: string; headers: string | null },
): Record<string, string> {
  const names = (headers ?? "").split(",").map((name) => name.trim().toLowerCase());
  // The secret of our own page is never for the page of another origin.
  const allowed = names.filter((name) => headerName.test(name) && name !== pageHeader);
  return {
    ...corsHeaders(origin),
    vary: "origin, access-control-request-headers",
    "access-control-allow-methods": methods,
    "access-control-allow-headers": allowed.length === 0 ? usualHeaders : allowed.join(", "),
    "access-control-max-age": "600",
  };
}
