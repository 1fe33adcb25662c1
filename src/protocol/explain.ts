/** Responses that explain answers: the comparison of two turns, and the check of a session's digests (D1, D2). */
import * as z from "zod";
import { limits } from "../domain/limits.ts";
import { idSchema, modelSettingsSchema, queryNumber, turnStatusSchema } from "./values.ts";

const place = z
  .object({ folder: z.string(), platform: z.string(), date: z.string(), branch: z.string().nullable() })
  .meta({ id: "DiffPlace" });

const side = z
  .object({
    turnId: idSchema,
    sessionId: idSchema,
    sessionName: z.string(),
    sequence: z.int(),
    status: turnStatusSchema,
    mode: z.string(),
    provider: z.string(),
    model: z.string(),
    settings: modelSettingsSchema,
    place: place.nullable().describe("The place in which the model worked, as far as it knew. Null: it did not know."),
    instruction: z.string(),
    answer: z.string(),
  })
  .meta({ id: "DiffSide" });

const historyTurn = z
  .object({ turnId: idSchema, depth: z.int(), instructionSummary: z.string() })
  .meta({ id: "HistoryTurn" });

const fileDifference = z.object({ path: z.string(), hashA: z.string().nullable(), hashB: z.string().nullable() });

export const turnDiffSchema = z
  .object({
    a: side,
    b: side,
    same: z
      .object({
        prompt: z.boolean(),
        tools: z.boolean(),
        model: z.boolean(),
        settings: z.boolean(),
        mode: z.boolean(),
        conversationContext: z.boolean(),
        agentContext: z.boolean(),
        rules: z.boolean(),
        skills: z.boolean(),
        facts: z.boolean(),
        place: z.boolean(),
      })
      .describe("True for each item that is the same in both turns."),
    chunks: z.array(
      z.object({
        path: z.string(),
        startLine: z.int(),
        endLine: z.int(),
        change: z.enum(["only_a", "only_b", "changed"]).describe("`changed`: the same lines with different content."),
      }),
    ),
    files: z.array(fileDifference),
    rules: z.array(fileDifference).describe("Files with rules of the repository that differ."),
    skills: z.array(fileDifference).describe("Skills that were offered and differ, by the path of SKILL.md."),
    facts: z
      .array(fileDifference)
      .describe("Facts of the workspace's memory that differ; `path` is the id of the fact."),
    history: z.object({
      commonTurnId: idSchema.nullable().describe("The last turn that both histories share."),
      commonTurns: z.int(),
      onlyA: z.array(historyTurn),
      onlyB: z.array(historyTurn),
    }),
  })
  .meta({
    id: "TurnDiff",
    description: "The differences between the inputs that the model received in two turns, and both answers.",
  });
export type WireTurnDiff = z.infer<typeof turnDiffSchema>;

export const verifyReportSchema = z
  .object({
    sessionId: idSchema,
    turnsChecked: z.int(),
    turnsUnsealed: z.int().describe("Number of turns without a digest, whose contents cannot be checked."),
    fault: z
      .object({ turnId: idSchema, sequence: z.int(), reason: z.string() })
      .nullable()
      .describe("The first turn whose digest does not match. Null: all digests match."),
  })
  .meta({ id: "VerifyReport" });
export type WireVerifyReport = z.infer<typeof verifyReportSchema>;

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
