/** The tree of sessions in requests and responses: head moves, forks, purging, garbage collection, search (S5, S6, S8, T6, K4). */
import * as z from "zod";
import { limits } from "../domain/limits.ts";
import { turnNameSchema } from "./manifest/turn-name.ts";
import { sessionSchema } from "./session.ts";
import { turnSummarySchema } from "./turn.ts";
import { columnText, idSchema, queryNumber, timeSchema } from "./values.ts";

export const headMoveSchema = z
  .strictObject({
    from: idSchema.nullable().describe("The head that the caller last read. Null: the session had no head."),
    to: idSchema.describe("The new head: a turn of the session that can be continued."),
  })
  .meta({ id: "HeadMove" });
export type WireHeadMove = z.input<typeof headMoveSchema>;

export const headMovesSchema = z
  .object({
    moves: z
      .array(
        z.object({
          from: idSchema.nullable().describe("Null: the session had no head."),
          to: idSchema.nullable().describe("Null: the session has no head since then."),
          userId: z.string(),
          at: timeSchema,
        }),
      )
      .describe("The moves that people made, oldest first. Turns that moved the head by ending are not among them."),
  })
  .meta({ id: "HeadMoves" });
export type WireHeadMoves = z.infer<typeof headMovesSchema>;

export const undoSchema = z
  .object({
    session: sessionSchema,
    undoneTurnId: idSchema
      .nullable()
      .describe("The turn that was undone. A turn that failed and did nothing leaves the head. Null: there was none."),
  })
  .meta({ id: "Undo" });
export type WireUndo = z.infer<typeof undoSchema>;

export const sessionGraphQuerySchema = z.strictObject({
  after: idSchema.optional().describe("The `nextAfter` of the previous page."),
  limit: queryNumber(1, limits.graphTurnsMax)
    .optional()
    .describe(`The number of turns. Default: ${limits.graphTurnsMax}.`),
});

export const sessionGraphSchema = z
  .object({
    session: sessionSchema,
    turns: z
      .array(turnSummarySchema)
      .describe(
        `The turns of the session, newest first, then the turns above it that it was forked from. Their texts have at most ${limits.graphTextCharactersMax} characters.`,
      ),
    forks: z
      .array(sessionSchema)
      .describe(
        `Sessions that start below one of these turns and that the caller may see: the ${limits.graphForksPerTurnMax} newest of each turn.`,
      ),
    forkCounts: z
      .array(z.object({ turnId: idSchema, count: z.int() }))
      .describe(
        "The number of all forks below each of these turns that has some. A list of sessions with `forkOf` has them.",
      ),
    nextAfter: idSchema.nullable().describe("The value of `after` for the next page. Null on the last page."),
    names: z.array(turnNameSchema).describe("The names that turns have in this session, the first turn first."),
  })
  .meta({ id: "SessionGraph" });
export type WireSessionGraph = z.infer<typeof sessionGraphSchema>;

export const forestQuerySchema = z
  .strictObject({
    limit: queryNumber(1, limits.forestTreesMax).optional().describe("The number of trees, or of the sessions found."),
    cursor: z.string().optional().describe("The `nextCursor` of the previous page."),
    q: columnText()
      .optional()
      .describe("Only sessions that contain all of these words, and what they were forked from."),
    below: idSchema.optional().describe("Only this session and its forks."),
  })
  .superRefine(({ limit: _limit, ...one }, context) => {
    const [, second] = Object.entries(one).filter(([, value]) => value !== undefined);
    if (second === undefined) return;
    context.addIssue({
      code: "custom",
      path: [second[0]],
      message: "cannot be set: only one of cursor, q and below can",
    });
  });

export const forestSchema = z
  .object({
    sessions: z
      .array(
        z.object({
          session: sessionSchema,
          origin: z
            .object({ turnId: idSchema, sessionId: idSchema, sequence: z.int(), depth: z.int() })
            .nullable()
            .describe("The turn below which it begins. Null for the root of a tree."),
          forks: z
            .array(z.object({ turnId: idSchema, sequence: z.int(), depth: z.int(), count: z.int() }))
            .nullable()
            .describe(
              `The turns below which its forks begin, and how many; the answer has the ${limits.forestForksPerTurnMax} newest of each turn. Null: they were not read; ask with \`below\`.`,
            ),
        }),
      )
      .describe(
        `Each session comes after the one that it was forked from. The answer has at most ${limits.forestSessionsMax} sessions.`,
      ),
    nextCursor: z.string().nullable().describe("Null on the last page."),
  })
  .meta({ id: "Forest" });
export type WireForest = z.infer<typeof forestSchema>;

export const purgeReportSchema = z
  .object({
    turnsPurged: z.int(),
    turnsKept: z.int().describe("Number of turns that were kept because other sessions depend on them."),
    blobsDeleted: z.int(),
    bytesFreed: z.int(),
  })
  .meta({ id: "PurgeReport" });
export type WirePurgeReport = z.infer<typeof purgeReportSchema>;

export const garbageOrderSchema = z
  .strictObject({
    dryRun: z.boolean().describe("True: report what would be deleted, and delete nothing."),
    isMostExpected: z
      .boolean()
      .default(false)
      .describe("True: delete the garbage also if it is most of what is stored. Otherwise that is `garbage_doubtful`."),
  })
  .meta({ id: "GarbageOrder" });

export const garbageReportSchema = z
  .object({
    keys: z.array(z.string()).describe("Blobs that no turn needs."),
    bytes: z.int(),
    isMost: z.boolean().describe("True if these are most of the stored blobs: the records may be lost."),
  })
  .meta({ id: "GarbageReport" });
export type WireGarbageReport = z.infer<typeof garbageReportSchema>;

export const searchQuerySchema = z.strictObject({
  q: columnText().describe(
    "Words to search for. A session matches if it contains all of them. Every character is plain text.",
  ),
  limit: queryNumber(1, limits.pageSizeMax).optional(),
});

export const searchHitsSchema = z
  .object({
    hits: z.array(
      z.object({
        session: sessionSchema,
        matches: z.array(
          z.object({
            where: z.enum(["name", "label", "metadata", "summary", "instruction", "answer"]),
            turnId: idSchema
              .nullable()
              .describe("The turn that matches; null for a match in the session's name, labels or metadata."),
            excerpt: z.string().describe("The text around the match on one line, with `…` where text was cut."),
          }),
        ),
      }),
    ),
  })
  .meta({ id: "SearchHits" });
export type WireSearchHits = z.infer<typeof searchHitsSchema>;
