/**
 * The operator's address, separate from the public door: metrics for Prometheus, and health probes that name what fails. It
 * requires no key, so by default it listens on loopback only.
 */
import type { Engine } from "../../engine/engine.ts";
import type { HttpDoor } from "./door.ts";
import { readyAnswer } from "./handlers/server.ts";

export interface OperatorDoorOptions {
  engine: Engine;
  metrics: { text(): Promise<string>; contentType: string };
  report(message: string, error?: unknown): void;
}

export function operatorDoor({ engine, metrics, report }: OperatorDoorOptions): HttpDoor {
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
        return await answer(request);
      } catch (error) {
        report("a request to the operator's address failed", error);
        return new Response(null, { status: 500 });
      }
    },
    takesUpgrade: () => false,
    upgrade: async ({ socket }) => void socket.destroy(),
  };
}
