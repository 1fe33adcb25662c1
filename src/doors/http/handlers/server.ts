/** Handlers for the server itself (H2). */
import { runsTheServer } from "../../../domain/caller.ts";
import type { CheckState, Engine } from "../../../engine/engine.ts";
import { toWireCheck } from "../../../protocol/server/doctor.ts";
import type { WireReadiness } from "../../../protocol/server/health.ts";
import { openApiDocument } from "../../../protocol/routes/openapi.ts";
import { linesMediaType } from "../../../protocol/transfer.ts";
import { bodyOfLines } from "../request/body-lines.ts";
import { answer, type HandlerDependencies, type RouteHandlers } from "./handler.ts";

type ServerRoute = "healthz" | "readyz" | "openapi" | "inspectServer";

export function serverHandlers({ engine, report }: HandlerDependencies): RouteHandlers<ServerRoute> {
  // The document never changes, takes a while to build, and needs no key. So it is built only once.
  let document: ReturnType<typeof openApiDocument> | null = null;
  return {
    // Liveness must not depend on the stores.
    healthz: async () => answer("healthz", { status: "ok", version: engine.version }),
    readyz: async ({ caller }) => await readyAnswer(engine, { showsDetails: caller !== null && runsTheServer(caller) }),
    inspectServer: async ({ caller, request }) => {
      const checks = engine.inspect(caller);
      if (request.headers.get("accept")?.includes(linesMediaType) === true) {
        const lines = await bodyOfLines(asLines(checks), (error) => report("an inspection broke off", error));
        return new Response(lines, { headers: { "content-type": linesMediaType } });
      }
      const found = (await Array.fromAsync(checks)).filter(({ state }) => state !== "running");
      return answer("inspectServer", { checks: found.map(toWireCheck) });
    },
    openapi: async () => answer("openapi", (document ??= openApiDocument(engine.version))),
  };
}

async function* asLines(checks: AsyncIterable<CheckState>): AsyncGenerator<string> {
  for await (const check of checks) yield JSON.stringify(toWireCheck(check));
}

/** Answers whether the server can run turns. Only admins of the org that runs the server see which part fails: it would help an attacker. */
export async function readyAnswer(engine: Engine, { showsDetails }: { showsDetails: boolean }): Promise<Response> {
  const { version, records, blobs, log, isShuttingDown, runningTurns } = await engine.health();
  const isReady = [records, blobs, log].every((state) => state === "ok") && !isShuttingDown;
  const details = showsDetails ? { records, blobs, log, isShuttingDown, runningTurns } : {};
  const value: WireReadiness = { status: isReady ? "ready" : "not_ready", version, ...details };
  return Response.json(value, { status: isReady ? 200 : 503 });
}
