/** Keys, the caller, and the server itself (H2, H4). */
import type { Engine } from "../../engine/engine.ts";
import { given } from "../../protocol/given.ts";
import type { WireReadiness } from "../../protocol/health.ts";
import { toWireKey } from "../../protocol/key.ts";
import { openApiDocument } from "../../protocol/openapi.ts";
import { answer } from "./call.ts";
import type { Door, Handlers } from "./call.ts";

type ServerRoute = "listKeys" | "createKey" | "revokeKey" | "me" | "healthz" | "readyz" | "openapi";

export function serverHandlers({ engine }: Door): Handlers<ServerRoute> {
  return {
    listKeys: async ({ caller }) => answer("listKeys", { keys: (await engine.keys.list(caller)).keys.map(toWireKey) }),
    createKey: async ({ caller, body: { name, expiresAt } }) => {
      const until = expiresAt === undefined ? undefined : Date.parse(expiresAt);
      const { key, secret } = await engine.keys.create(caller, { name, ...given({ expiresAt: until }) });
      return answer("createKey", { key: toWireKey(key), secret });
    },
    revokeKey: async ({ caller, id }) => {
      await engine.keys.revoke(caller, id);
      return new Response(null, { status: 204 });
    },
    me: async ({ caller: { orgId, userId, role } }) => answer("me", { orgId, userId, role }),
    // Whether the process lives must not depend on its stores.
    healthz: async () => answer("healthz", { status: "ok", version: engine.version }),
    readyz: async ({ caller }) => await readyAnswer(engine, { tellsAll: caller?.role === "admin" }),
    openapi: async () => answer("openapi", openApiDocument(engine.version)),
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
