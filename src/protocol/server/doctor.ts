/** What `aptove doctor` finds, over the API (L1). */
import * as z from "zod";

export const checkSchema = z
  .object({
    name: z.string().describe("The part that is checked, for example `records`."),
    state: z
      .enum(["running", "ok", "note", "failed"])
      .describe("`note`: it works, and there is something to know. `running`: only in a stream."),
    detail: z.string().describe("What was found. Empty while the check runs."),
    fix: z.string().nullable().describe("What a person does about it. Null: nothing, or it is not known."),
  })
  .meta({ id: "Check" });
export type WireCheck = z.infer<typeof checkSchema>;

export const inspectionSchema = z.object({ checks: z.array(checkSchema) }).meta({ id: "Inspection" });

interface CheckState extends Omit<WireCheck, "fix"> {
  fix?: string;
}

export function toWireCheck({ name, state, detail, fix }: CheckState): WireCheck {
  return { name, state, detail, fix: fix ?? null };
}
