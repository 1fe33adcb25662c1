/**
 * The operator's address, separate from the public door: metrics for Prometheus, and health probes that name what fails. It
 * requires no key, so by default it listens on loopback only.
 */
import { isIP } from "node:net";
import { AptoveError } from "../../domain/errors.ts";
import type { Engine } from "../../engine/engine.ts";
import { createOriginGuard } from "./admission/origin-guard.ts";
import type { HttpDoor } from "./door.ts";
import { readyAnswer } from "./handlers/server.ts";

export interface OperatorDoorOptions {
  engine: Engine;
  /** The names under which it is reached, beside those of this machine and every address of the network. */
  allowedHosts: readonly string[];
  metrics: { text(): Promise<string>; contentType: string };
  report(message: string, error?: unknown): void;
}

export function operatorDoor({ engine, allowedHosts, metrics, report }: OperatorDoorOptions): HttpDoor {
  const guard = createOriginGuard({ hosts: allowedHosts, origins: [] });
  const answer = async ({ url, method }: Request): Promise<Response> => {
    if (method !== "GET" && method !== "HEAD")
      return new Response(null, { status: 405, headers: { allow: "GET, HEAD" } });
    switch (new URL(url).pathname) {
      case "/metrics":
        return new Response(await metrics.text(), { headers: { "content-type": metrics.contentType } });
      case "/healthz":
        return Response.json({ status: "ok", version: engine.version });
      case "/readyz":
        return await readyAnswer(engine, { showsDetails: true });
      default:
        return new Response("this address has /metrics, /healthz and /readyz\n", { status: 404 });
    }
  };
  return {
    fetch: async (request) => {
      try {
        // No page may read it, not even one of this machine.
        if (request.headers.has("origin")) return new Response(pageRefused, { status: 403 });
        if (!isAddress(request)) guard.check(request);
        return await answer(request);
      } catch (error) {
        if (error instanceof AptoveError && error.code === "origin_refused") {
          return new Response(`${error.message}\n`, { status: 403 });
        }
        report("a request to the operator's address failed", error);
        return new Response(null, { status: 500 });
      }
    },
    takesUpgrade: () => false,
    upgrade: async ({ socket }) => void socket.destroy(),
  };
}

const pageRefused = "web pages may not use this address\n";

/** A numeric address cannot be pointed at this machine by a stranger, as a name can. Prometheus in a cluster uses such addresses. */
function isAddress(request: Request): boolean {
  const target = new URL(request.url).host;
  return [request.headers.get("host") ?? target, target].every((host) => {
    return isIP(host.replace(/:\d{1,5}$/, "").replace(/^\[(.*)\]$/, "$1")) !== 0;
  });
}
