/** The memory of workspaces in requests and responses (M3). */
import * as z from "zod";
import { isFactId, type Fact } from "../../domain/fact.ts";
import { isoTime } from "../../domain/ids.ts";
import { limits } from "../../domain/limits.ts";
import { columnText, idSchema, timeSchema } from "../values.ts";

const workspace = columnText().min(1);

export const memoryParamsSchema = z.strictObject({ workspace });
export const factParamsSchema = z.strictObject({
  workspace,
  fact: z.string().refine(isFactId, "is not the id of a fact"),
});

const text = z
  .string()
  .max(limits.factBytesMax)
  .describe(`The fact, in words that can be understood without a conversation; at most ${limits.factBytesMax} bytes.`);

export const factSchema = z
  .object({
    id: z.string(),
    text: z.string(),
    hash: z.string().describe("SHA-256 of the text."),
    createdAt: timeSchema.nullable().describe("Null: a person wrote the file without a time."),
    source: z
      .object({ sessionId: idSchema, turnId: idSchema })
      .nullable()
      .describe("The turn that the fact came from. Null: a person wrote it down outside of a session."),
  })
  .meta({ id: "Fact" });
export type WireFact = z.infer<typeof factSchema>;

/** A fact as the manifest of a turn has it. */
export const factRefSchema = z
  .object({
    id: z.string(),
    workspaceId: z.string(),
    contentHash: z.string(),
    sourceTurnId: idSchema
      .nullable()
      .describe("The turn that the fact came from. Null: a person wrote it down outside of a session."),
    wasSent: z.boolean().describe("False if an earlier message of the history has it."),
  })
  .meta({ id: "FactRef" });

export const memorySchema = z
  .object({
    facts: z.array(factSchema).describe("Oldest first."),
    faults: z
      .array(z.object({ name: z.string(), reason: z.string() }))
      .describe("Files of the memory that are not used, and why."),
  })
  .meta({ id: "Memory" });
export type WireMemory = z.infer<typeof memorySchema>;

export const factStartSchema = z
  .strictObject({ text, sourceTurnId: idSchema.optional().describe("The turn that the fact comes from.") })
  .meta({ id: "FactStart" });
export type WireFactStart = z.input<typeof factStartSchema>;

export const factEditSchema = z
  .strictObject({
    text,
    expectedHash: z.string().max(64).optional().describe("The edit succeeds only if the text still has this hash."),
  })
  .meta({ id: "FactEdit" });
export type WireFactEdit = z.input<typeof factEditSchema>;

export const forgottenSchema = z
  .object({
    ids: z
      .array(z.string())
      .describe(
        "The facts that were removed: the named one, and those with the same text. Empty: it was forgotten before.",
      ),
    turns: z
      .array(z.object({ sessionId: idSchema, turnId: idSchema, sequence: z.int(), isSource: z.boolean() }))
      .describe(
        "The turns that were given a fact, oldest first, and the one that it came from (`isSource`). They keep what they had until their session is purged.",
      ),
    turnsOfOthers: z.int().describe("How many more turns were given one, in sessions that the caller cannot see."),
  })
  .meta({ id: "Forgotten" });
export type WireForgotten = z.infer<typeof forgottenSchema>;

export function toWireFact({ createdAt, ...fact }: Fact): WireFact {
  return { ...fact, createdAt: createdAt === null ? null : isoTime(createdAt) };
}
