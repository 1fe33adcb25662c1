/** What the two open routes say of the server. */
import { z } from "zod";

const state = z.enum(["ok", "failed"]);

export const alive = z.object({ status: z.literal("ok"), version: z.string() }).meta({ id: "Alive" });

export const readiness = z
  .object({
    status: z.enum(["ready", "not_ready"]),
    version: z.string(),
    records: state.optional(),
    blobs: state.optional(),
    log: state.optional().describe("The live log."),
    isShuttingDown: z.boolean().optional(),
    runningTurns: z.int().optional(),
  })
  .meta({ id: "Readiness", description: "Only an admin is told more than status and version." });
export type WireReadiness = z.infer<typeof readiness>;
