/**
 * What keeps a web page from driving the server (H4). A page's own requests carry its `Origin`, which must be
 * allowed; and a name that an attacker points at this machine (DNS rebinding) arrives as `Host`, which must
 * be one of ours. A key is needed besides.
 */
import { AptoveError } from "../../../domain/errors.ts";

/** Always allowed, on any port: no attacker can make a browser send these for a name of their own. */
const loopbackNames = ["localhost", "127.0.0.1", "[::1]"];

export interface Guard {
  /** Throws `origin_refused`. Gives the origin that may read the answer, when it is not the server's own. */
  check(request: Request): string | null;
}

/** Hosts with a port are taken on that port only, without one on any. Origins are whole: `https://example.org`. */
export function createGuard(allowed: { hosts: readonly string[]; origins: readonly string[] }): Guard {
  const hosts = new Set([...loopbackNames, ...allowed.hosts].map((host) => host.toLowerCase()));
  const origins = new Set(allowed.origins.map((origin) => origin.toLowerCase().replace(/\/$/, "")));
  return {
    check: (request) => {
      const target = new URL(request.url).host;
      const host = (request.headers.get("host") ?? target).toLowerCase();
      // A request line may name another host than the header.
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
        `pages of ${JSON.stringify(origin)} may not call; the operator can add it to serve.allowed_origins`,
      );
    },
  };
}

/** Without the port; what is not a host at all stays as it is and is not found. */
function hostName(host: string): string {
  return /^(\[[0-9a-f:.]+\]|[^:[\]]+):\d{1,5}$/.exec(host)?.[1] ?? host;
}

/** Headers by which a browser lets an allowed origin read the answer; none are sent otherwise. */
export function corsHeaders(origin: string): Record<string, string> {
  return {
    "access-control-allow-origin": origin,
    "access-control-expose-headers": "retry-after, x-request-id, acp-connection-id",
    vary: "origin",
  };
}

export function preflightHeaders(origin: string, methods: string): Record<string, string> {
  return {
    ...corsHeaders(origin),
    "access-control-allow-methods": methods,
    "access-control-allow-headers":
      "authorization, content-type, idempotency-key, last-event-id, acp-connection-id, acp-session-id, x-aptove-device, x-request-id, traceparent, tracestate",
    "access-control-max-age": "600",
  };
}
