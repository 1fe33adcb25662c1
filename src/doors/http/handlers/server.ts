/** Handlers for the server itself (H2). */
import { runsTheServer } from "../../../domain/caller.ts";
import type { Engine } from "../../../engine/engine.ts";
import type { WireReadiness } from "../../../protocol/health.ts";
import { openApiDocument } from "../../../protocol/routes/openapi.ts";
import { answer, type HandlerDependencies, type RouteHandlers } from "./handler.ts";

type ServerRoute = "healthz" | "readyz" | "openapi";

export function serverHandlers({ engine }: HandlerDependencies): RouteHandlers<ServerRoute> {
  // The document never changes, takes a while to build, and needs no key. So it is built only once.
  let document: ReturnType<typeof openApiDocument> | null = null;
  return {
    // Liveness must not depend on the stores.
    healthz: async () => answer("healthz", { status: "ok", version: engine.version }),
    readyz: async ({ caller }) => await readyAnswer(engine, { showsDetails: caller !== null && runsTheServer(caller) }),
    openapi: async () => answer("openapi", (document ??= openApiDocument(engine.version))),
  };
}

/** Answers whether the server can run turns. Only admins of the org that runs the server see which part fails: it would help an attacker. */
export async function readyAnswer(engine: Engine, { showsDetails }: { showsDetails: boolean }): Promise<Response> {
  const { version, records, blobs, log, isShuttingDown, runningTurns } = await engine.health();
  const isReady = [records, blobs, log].every((state) => state === "ok") && !isShuttingDown;
  const details = showsDetails ? { records, blobs, log, isShuttingDown, runningTurns } : {};
  const value: WireReadiness = { status: isReady ? "ready" : "not_ready", version, ...details };
  return Response.json(value, { status: isReady ? 200 : 503 });
}
