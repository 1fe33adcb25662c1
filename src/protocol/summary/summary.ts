/** Summaries of sessions in requests and responses (M5). */
import * as z from "zod";
import { isoTime } from "../../domain/ids.ts";
import { limits } from "../../domain/limits.ts";
import { isCompleted, summaryNote, summaryParts, type Summary } from "../../domain/summary.ts";
import { columnText, failureSchema, idSchema, queryNumber, timeSchema, toWireUsage, usageSchema } from "../values.ts";
import { toWireFailure } from "../wire-failure.ts";

export const summaryStartSchema = z
  .strictObject({
    throughTurnId: idSchema.optional().describe("The last turn of the range. If absent: the head."),
    model: columnText()
      .optional()
      .describe("As in a turn: `<model>`, `<provider>/<model>`, or `context:<id>`. If absent: that of the session."),
    fresh: z.boolean().optional().describe("True if it must not begin with an earlier summary."),
  })
  .meta({ id: "SummaryStart" });
export type WireSummaryStart = z.input<typeof summaryStartSchema>;

const callSchema = z.object({
  call: z.int().describe("Number of the call, from 1. The routes for requests and responses take it."),
  provider: z.string(),
  model: z.string(),
  startedAt: timeSchema,
  endedAt: timeSchema.nullable().describe("Null as long as the call runs, and if its process was lost."),
  requestBytes: z.int(),
  requestSha256: z.string(),
  failure: failureSchema.nullable(),
  usage: usageSchema.nullable(),
});

export const summarySchema = z
  .object({
    id: idSchema,
    sessionId: idSchema,
    status: z.enum(["pending", "completed", "failed"]),
    cause: z.enum(["request", "archived"]),
    userId: z.string(),
    fromTurnId: idSchema,
    throughTurnId: idSchema.describe("The last turn of the branch that the summary stands for."),
    turnCount: z.int().describe("How many turns it stands for."),
    basedOn: idSchema.nullable().describe("The earlier summary that it began with."),
    provider: z.string(),
    model: z.string(),
    note: z.string().nullable().describe("What a reader must know first, for example that the offline model made it."),
    lines: z.array(
      z.object({
        part: z.enum(summaryParts),
        text: z.string(),
        sources: z
          .array(
            z.object({
              turnId: idSchema,
              sequence: z
                .int()
                .nullable()
                .describe("The number of the turn in its session. Null if it cannot be read."),
              quote: z.string().describe("Words that stand in the turn."),
            }),
          )
          .describe("The turns that the line rests on, at least one."),
      }),
    ),
    rejected: z
      .array(z.object({ what: z.enum(["line", "source"]), text: z.string(), reason: z.string() }))
      .describe("What the model wrote and what does not count: whole lines, and sources of lines that are kept."),
    failure: failureSchema.nullable(),
    usage: usageSchema.nullable().describe("The sum of all calls. Null as long as it is being made."),
    calls: z.array(callSchema),
    createdAt: timeSchema,
    endedAt: timeSchema.nullable(),
  })
  .meta({ id: "Summary" });
export type WireSummary = z.infer<typeof summarySchema>;

export const summaryListSchema = z.object({ summaries: z.array(summarySchema) }).meta({ id: "SummaryList" });

export const summaryListQuerySchema = z.strictObject({
  limit: queryNumber(1, limits.pageSizeMax).optional(),
  status: z.literal("completed").optional(),
});

export const summaryQuerySchema = z.strictObject({
  waitMs: queryNumber(0, limits.summaryWaitMsMax)
    .optional()
    .describe("Answer when the summary has ended, or after this time in milliseconds. If absent: at once."),
});

export const summaryCallQuerySchema = z.strictObject({ call: queryNumber(1).describe("Number of the call, from 1.") });

/** `sequences`: the numbers of the turns that the lines name. */
export function toWireSummary(of: Summary, sequences: ReadonlyMap<string, number>): WireSummary {
  const { end } = of;
  const lines = isCompleted(of) ? of.end.lines : [];
  return {
    id: of.id,
    sessionId: of.sessionId,
    status: end?.status ?? "pending",
    cause: of.cause,
    userId: of.userId,
    fromTurnId: of.fromTurnId,
    throughTurnId: of.throughTurnId,
    turnCount: of.throughDepth,
    basedOn: of.basedOn,
    provider: of.provider,
    model: of.model,
    note: summaryNote(of),
    lines: lines.map(({ sources, ...line }) => ({
      ...line,
      sources: sources.map(({ turnId, quote }) => ({ turnId, sequence: sequences.get(turnId) ?? null, quote })),
    })),
    rejected: end?.rejected ?? [],
    failure: end?.status === "failed" ? toWireFailure(end.failure) : null,
    usage: end === null ? null : toWireUsage(end.usage),
    calls: of.calls.map(toWireCall),
    createdAt: isoTime(of.createdAt),
    endedAt: end === null ? null : isoTime(end.at),
  };
}

function toWireCall({
  index,
  end,
  request,
  startedAt,
  ...rest
}: Summary["calls"][number]): WireSummary["calls"][number] {
  return {
    call: index,
    ...rest,
    startedAt: isoTime(startedAt),
    endedAt: end === null ? null : isoTime(end.endedAt),
    requestBytes: request.bytes,
    requestSha256: request.sha256,
    failure: end?.outcome.status === "failed" ? toWireFailure(end.outcome.failure) : null,
    usage: end === null ? null : toWireUsage(end.usage),
  };
}
