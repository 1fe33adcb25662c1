/** Export and import of sessions: the file has lines of JSON, one export after the other. */
import * as z from "zod";
import { idSchema } from "./values.ts";

export const linesMediaType = "application/x-ndjson";

export const exportQuerySchema = z
  .strictObject({
    turnId: idSchema.optional().describe("Export only the branch that ends at this turn of the session."),
    format: z
      .enum(["lines", "markdown"])
      .optional()
      .describe("`lines` (the default) can be imported; `markdown` is for reading."),
  })
  .refine(({ turnId, format }) => turnId === undefined || format !== "markdown", {
    path: ["format"],
    message: 'is "markdown" and cannot be combined with turnId: it exports whole sessions',
  });

export const importReportSchema = z
  .object({
    sessions: z.array(z.object({ id: idSchema, name: z.string(), isNew: z.boolean() })),
    turnsImported: z.int(),
    turnsKnown: z.int().describe("Number of turns that already existed and were not changed."),
    blobsImported: z.int(),
  })
  .meta({ id: "ImportReport" });
export type WireImportReport = z.infer<typeof importReportSchema>;
