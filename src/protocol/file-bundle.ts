/** The schema of a file bundle (X7): the changes that an answer in `edit` mode proposes. */
import * as z from "zod";

const patch = z.object({ find: z.string(), replace: z.string(), limit: z.enum(["once", "all"]) });

export const fileBundleSchema = z
  .object({
    root: z.string(),
    files: z.array(
      z.object({
        path: z.string(),
        operation: z.enum(["create", "replace", "delete", "patch"]),
        content: z.string().optional(),
        patches: z.array(patch).optional(),
        baseSha256: z.string().optional(),
      }),
    ),
  })
  .meta({ id: "FileBundle" });
