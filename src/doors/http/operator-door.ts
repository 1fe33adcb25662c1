/**
 * The operator's own address, apart from the public door: figures for Prometheus, and the probes of whatever keeps the server
 * running, with what fails named. It asks for no key, so it listens on loopback unless it is told otherwise.
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
        return await readyAnswer(engine, { tellsAll: true });
      default:
        return new Response("there are /metrics, /healthz and /readyz\n", { status: 404 });
    }
  };
  return {
    fetch: async (request) => {
      try {
        return await answer(request);
      } catch (error) {
        report("the operator's address could not answer", error);
        return new Response(null, { status: 500 });
      }
    },
    takesUpgrade: () => false,
    upgrade: async ({ socket }) => void socket.destroy(),
  };
}
