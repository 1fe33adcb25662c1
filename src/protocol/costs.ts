/** What turns have cost, in responses (U9). */
import * as z from "zod";
import { timeSchema, usageSchema } from "./values.ts";

export const costsQuerySchema = z.strictObject({
  from: timeSchema.describe("Turns that were created at this time or later."),
  until: timeSchema.optional().describe("Turns that were created before this time. If absent: up to now."),
});

export const costsSchema = z
  .object({
    cells: z.array(
      z
        .object({
          day: z.string().describe("The day of the turns in UTC, as `2026-11-23`."),
          sessionId: z.string(),
          userId: z.string().describe("The user who began the turns."),
          model: z.string(),
          turns: z.int(),
          usage: usageSchema,
        })
        .meta({ id: "CostCell" }),
    ),
    sessions: z.array(z.object({ id: z.string(), name: z.string() })).describe("The sessions of the cells."),
    isPartial: z.boolean().describe("True if there are more sessions than one report reads. The oldest are left out."),
  })
  .meta({ id: "Costs" });
export type WireCosts = z.infer<typeof costsSchema>;
