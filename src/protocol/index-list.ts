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
/** The indexed files whose path has a part (U4). */
export const indexedFilesQuerySchema = z.strictObject({
  repo: z.string().min(1).max(4_096).describe("The repository, as `GET /api/indexes` names it."),
  part: z.string().max(4_096).default("").describe("A part of a path, whatever its case."),
});
export const indexedFilesSchema = z
  .object({ paths: z.array(z.string()).describe("At most 20, the best first.") })
  .meta({ id: "IndexedFiles" });

export type WireIndex = z.infer<typeof indexListSchema>["indexes"][number];
