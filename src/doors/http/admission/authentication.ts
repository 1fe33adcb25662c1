/** Admits requests (H4, H5): checks their origin and their key, and limits their rate. */
import type { Caller } from "../../../domain/caller.ts";
import { AptoveError } from "../../../domain/errors.ts";
import { createOriginGuard } from "./origin-guard.ts";
import { secretOfPage } from "./page-cookie.ts";
import { RequestRates } from "./quotas.ts";

export interface AuthenticationOptions {
  /** Returns the owner of a key's secret, or null. */
  authenticate(secret: string): Promise<Caller | null>;
  /** Host names that clients use for this server, beside the loopback names, with or without a port. */
  allowedHosts: readonly string[];
  /** Origins of web pages that may send requests, for example `https://example.org`. */
  allowedOrigins: readonly string[];
  /** The limit of one user on this server. */
  requestsPerMinuteMax: number;
  /** Counts the request across all servers. Throws `rate_limited`. */
  takeRequest(caller: Caller): Promise<void>;
  /** Returns a time in milliseconds, for the rate limit. */
  now(): number;
}

/** The caller of an authenticated request, and the secret of their key. */
export interface AuthenticatedRequest {
  caller: Caller;
  secret: string;
}

export interface Authentication {
  /** Returns the foreign origin that may read the response, or null. Throws `origin_refused`. */
  checkOrigin(request: Request): string | null;
  /**
   * Authenticates and counts a request. The page's cookie counts only with `page`, and only for the server's own page. Throws
   * `unauthenticated` or `rate_limited`.
   */
  identify(request: Request, from?: { page: boolean }): Promise<AuthenticatedRequest>;
  /** Counts a request without a key that may be an attempt to guess a secret. Throws `rate_limited`. */
  countUnauthenticated(): void;
}

/** The id that counts all requests without a key. They are counted together, because behind a proxy all have the same address. */
const unauthenticatedId = "";

/** Prefix of the subprotocol in which a browser sends the key, because it cannot set headers on a WebSocket. */
const tokenProtocol = "aptove.bearer.";

export function createAuthentication(options: AuthenticationOptions): Authentication {
  const guard = createOriginGuard({ hosts: options.allowedHosts, origins: options.allowedOrigins });
  const rates = new RequestRates(options.requestsPerMinuteMax, () => options.now());
  return {
    checkOrigin: (request) => guard.check(request),
    identify: async (request, { page } = { page: false }) => {
      const mayBePage = page && !request.headers.has("authorization") && guard.check(request) === null;
      const secret = mayBePage ? secretOfPage(request) : secretOf(request);
      const caller = secret === undefined ? null : await options.authenticate(secret);
      if (secret === undefined || caller === null) {
        const detail =
          secret === undefined ? "send it as `Authorization: Bearer <key>`" : "the key is unknown, revoked or expired";
        throw new AptoveError("unauthenticated", detail);
      }
      rates.take(caller.userId);
      await options.takeRequest(caller);
      return { caller, secret };
    },
    countUnauthenticated: () => rates.take(unauthenticatedId),
  };
}

function secretOf({ headers }: Request): string | undefined {
  const authorization = headers.get("authorization");
  if (authorization !== null) return /^Bearer +(\S+)$/i.exec(authorization)?.[1];
  if (headers.get("upgrade")?.toLowerCase() !== "websocket") return undefined;
  const offered = (headers.get("sec-websocket-protocol") ?? "").split(",").map((one) => one.trim());
  return offered.find((one) => one.startsWith(tokenProtocol))?.slice(tokenProtocol.length);
}
