/** Who may come in (H4, H5): where a request comes from, whose key it brings, and how often. */
import type { Caller } from "../../../domain/caller.ts";
import { AptoveError } from "../../../domain/errors.ts";
import { createGuard } from "./guard.ts";
import { RequestRates } from "./quotas.ts";

export interface AuthenticationOptions {
  /** Who a key's secret belongs to, or null. */
  authenticate(secret: string): Promise<Caller | null>;
  /** Names beside the loopback ones under which the server is reached, with or without a port. */
  allowedHosts: readonly string[];
  /** Other origins whose pages may call, for example `https://example.org`. */
  allowedOrigins: readonly string[];
  /** What one user may ask of this server. */
  requestsPerMinuteMax: number;
  /** Counts the request over all servers. Throws `rate_limited`. */
  takeRequest(caller: Caller): Promise<void>;
  /** Milliseconds, for the request rate. */
  now(): number;
}

/** Somebody who was let in, and the key by which they came. */
export interface AuthenticatedRequest {
  caller: Caller;
  secret: string;
}

export interface Authentication {
  /** Throws `origin_refused`; gives the foreign origin that may read the answer. */
  checkOrigin(request: Request): string | null;
  /** Throws `unauthenticated` or `rate_limited`. */
  identify(request: Request): Promise<AuthenticatedRequest>;
  /** Counts a request that needs no key and can be a guess; throws `rate_limited`. */
  countStranger(): void;
}

/** No user has this id; strangers are counted together, because an address tells nothing behind a proxy. */
const strangers = "";

/** What a browser sends in place of the header that it cannot set on a WebSocket: a subprotocol beside the real one. */
const tokenProtocol = "aptove.bearer.";

export function createAuthentication(options: AuthenticationOptions): Authentication {
  const guard = createGuard({ hosts: options.allowedHosts, origins: options.allowedOrigins });
  const rates = new RequestRates(options.requestsPerMinuteMax, () => options.now());
  return {
    checkOrigin: (request) => guard.check(request),
    identify: async (request) => {
      const secret = secretOf(request);
      const caller = secret === undefined ? null : await options.authenticate(secret);
      if (secret === undefined || caller === null) {
        const detail =
          secret === undefined ? "send it as `Authorization: Bearer <key>`" : "the key is not one that is in use";
        throw new AptoveError("unauthenticated", detail);
      }
      rates.take(caller.userId);
      await options.takeRequest(caller);
      return { caller, secret };
    },
    countStranger: () => rates.take(strangers),
  };
}

function secretOf({ headers }: Request): string | undefined {
  const authorization = headers.get("authorization");
  if (authorization !== null) return /^Bearer +(\S+)$/i.exec(authorization)?.[1];
  if (headers.get("upgrade")?.toLowerCase() !== "websocket") return undefined;
  const offered = (headers.get("sec-websocket-protocol") ?? "").split(",").map((one) => one.trim());
  return offered.find((one) => one.startsWith(tokenProtocol))?.slice(tokenProtocol.length);
}
