/** The repositories that are indexed (Q1). */
import * as z from "zod";
import { timeSchema } from "./values.ts";

export const indexListSchema = z
  .object({
    indexes: z.array(
      z
        .object({
          repo: z.string(),
          commit: z.string().nullable(),
          files: z.int(),
          chunks: z.int(),
          embedding: z.object({ model: z.string(), dimension: z.int() }),
          indexedAt: timeSchema,
        })
        .meta({ id: "Index" }),
    ),
  })
  .meta({ id: "IndexList" });
export type WireIndex = z.infer<typeof indexListSchema>["indexes"][number];
