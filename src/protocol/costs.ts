/** What turns have cost, and what the next one would cost, in responses (U9). */
import * as z from "zod";
import { contextManifestSchema } from "./turn.ts";
import { timeSchema, usageSchema, warningSchema } from "./values.ts";

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

const dollars = z.number().describe("US dollars.");

export const estimateSchema = z
  .object({
    provider: z.string(),
    model: z.string(),
    contextTokens: z.int().nullable().describe("The size of the model's window. Null: it is not known."),
    tokens: z
      .object({
        prompt: z.int(),
        tools: z.int(),
        history: z.int(),
        context: z
          .int()
          .describe("What the message has beside the instruction: code, files, rules, notes and results."),
        instruction: z.int(),
        total: z.int(),
        cachedMax: z.int().describe("The part of `total` that the provider may still have in its cache."),
      })
      .describe(
        "Tokens of the request, by kind. They are estimates; `history` is what the provider counted, if it did.",
      ),
    price: z
      .object({
        inputMinUsd: dollars.describe("With everything cached that may be."),
        inputMaxUsd: dollars.describe("With nothing cached, and written to the cache where that costs more."),
        outputUsdPerThousand: dollars.describe("For a thousand tokens of output."),
        maxUsd: dollars
          .nullable()
          .describe("The most that the call can cost. Null: `settings` do not limit the output."),
      })
      .nullable()
      .describe("Null: the price of the model is not known."),
    isSummarisedFirst: z.boolean().describe("True if the history would be summarised first, in a call of its own."),
    manifest: contextManifestSchema,
    warnings: z.array(warningSchema),
  })
  .meta({ id: "TurnEstimate" });
export type WireEstimate = z.infer<typeof estimateSchema>;
