/** What history costs, on the wire (B7). */
import * as z from "zod";
import { limits } from "../domain/limits.ts";
import { idSchema, queryNumber } from "./values.ts";

const bytes = z.int().describe("In bytes, as stored.");

const byKindSchema = z.object({
  opening: bytes.describe("The instruction, the message and the first request, in bytes."),
  requests: bytes.describe("The requests of later model calls, in bytes."),
  run: bytes.describe("The events, the responses and long outputs of tools, in bytes."),
  state: bytes.describe("What the turns added to the history, in bytes."),
  input: bytes.describe("The parts of the input, for example images, in bytes."),
  rows: bytes.describe("The rows and steps, in bytes."),
  texts: bytes.describe("The texts that the search reads, in bytes."),
  other: bytes.describe("What a running turn needs, and what a crash left, in bytes."),
});

const size = {
  bytes,
  requestBytes: z
    .int()
    .describe("The length of the exact requests. What they repeat of earlier turns is stored with these, once."),
  byKind: byKindSchema,
};

const totalSchema = z.object({ turns: z.int(), ...size });

export const sessionSizeQuerySchema = z.strictObject({
  before: queryNumber(1).optional().describe("Show only turns with a smaller sequence number."),
  limit: queryNumber(1, limits.pageSizeMax).optional(),
});

export const sessionSizeSchema = z
  .object({
    sessionId: idSchema,
    total: totalSchema.describe("All turns of the session. Boot prompts, which all turns share, are not counted."),
    inheritedTurns: z
      .int()
      .describe("The number of turns of other sessions that its history begins with. They are stored there."),
    purge: z
      .object({ bytes, keptTurns: z.int(), keptBytes: bytes })
      .nullable()
      .describe(
        "What a purge would free, and what it would keep for other sessions. Null: the caller may not purge it.",
      ),
    turns: z.array(z.object({ turnId: idSchema, sequence: z.int(), ...size })).describe("The newest first."),
  })
  .meta({ id: "SessionSize" });
export type WireSessionSize = z.infer<typeof sessionSizeSchema>;

export const sizesQuerySchema = z.strictObject({ limit: queryNumber(1, limits.pageSizeMax).optional() });

export const sizesSchema = z
  .object({
    sessionCount: z.int(),
    total: totalSchema,
    sessions: z
      .array(z.object({ id: idSchema, name: z.string(), turns: z.int(), bytes }))
      .describe("The largest sessions, the largest first."),
    isPartial: z.boolean().describe("True if there are more sessions than were read."),
  })
  .meta({ id: "Sizes" });
export type WireSizes = z.infer<typeof sizesSchema>;
