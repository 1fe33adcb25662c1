/** The server itself (H2). */
import { runsTheServer } from "../../../domain/caller.ts";
import type { Engine } from "../../../engine/engine.ts";
import type { WireReadiness } from "../../../protocol/health.ts";
import { openApiDocument } from "../../../protocol/routes/openapi.ts";
import { answer } from "./call.ts";
import type { Door, Handlers } from "./call.ts";

type ServerRoute = "healthz" | "readyz" | "openapi";

export function serverHandlers({ engine }: Door): Handlers<ServerRoute> {
  // It is always the same, takes a while, and is given to strangers: made once.
  let document: ReturnType<typeof openApiDocument> | null = null;
  return {
    // Whether the process lives must not depend on its stores.
    healthz: async () => answer("healthz", { status: "ok", version: engine.version }),
    readyz: async ({ caller }) => await readyAnswer(engine, { tellsAll: caller !== null && runsTheServer(caller) }),
    openapi: async () => answer("openapi", (document ??= openApiDocument(engine.version))),
  };
}

/** What fails is for those who run the server: to anybody else it is a map of it. */
export async function readyAnswer(engine: Engine, { tellsAll }: { tellsAll: boolean }): Promise<Response> {
  const { version, records, blobs, log, isShuttingDown, runningTurns } = await engine.health();
  const isReady = [records, blobs, log].every((state) => state === "ok") && !isShuttingDown;
  const why = tellsAll ? { records, blobs, log, isShuttingDown, runningTurns } : {};
  const value: WireReadiness = { status: isReady ? "ready" : "not_ready", version, ...why };
  return Response.json(value, { status: isReady ? 200 : 503 });
}
