/** The responses of the two open routes about the server's state. */
import * as z from "zod";

const state = z.enum(["ok", "failed"]);

export const aliveSchema = z.object({ status: z.literal("ok"), version: z.string() }).meta({ id: "Alive" });

export const readinessSchema = z
  .object({
    status: z.enum(["ready", "not_ready"]),
    version: z.string(),
    records: state.optional(),
    blobs: state.optional(),
    log: state.optional().describe("The state of the live log."),
    isShuttingDown: z.boolean().optional(),
    runningTurns: z.int().optional(),
  })
  .meta({ id: "Readiness", description: "Only an admin receives more than the status and the version." });
export type WireReadiness = z.infer<typeof readinessSchema>;
