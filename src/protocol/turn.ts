/** Turns in responses (T4): a whole turn, a summary for lists, and the input that the model received. */
import * as z from "zod";
import { foreignTools, type ForeignRef } from "../domain/foreign.ts";
import { isoTime } from "../domain/ids.ts";
import type { Step } from "../domain/step.ts";
import type { DeferredCall } from "../domain/tool.ts";
import type { Failure } from "../domain/errors.ts";
import type { StopReason } from "../domain/events.ts";
import type { ArchivedTurn, FinishedTurn, Turn } from "../domain/turn.ts";
import { countedContext, type RunSummary } from "../domain/usage.ts";
import { contextManifestSchema } from "./manifest/manifest.ts";
import { isoTimeOrNull } from "./session.ts";
import { toWireStep, stepSchema } from "./step.ts";
import {
  deferredCallSchema,
  failureSchema,
  idSchema,
  stopReasonSchema,
  timeSchema,
  toWireUsage,
  turnStatusSchema,
  usageSchema,
  warningSchema,
} from "./values.ts";
import { toWireFailure } from "./wire-failure.ts";

const turnPart = z
  .object({
    type: z.enum(["url", "file", "binary"]),
    mode: z.enum(["file", "inline"]),
    source: z.string().nullable().describe("The address or path."),
    name: z.string().describe("The name that the model sees."),
    mediaType: z.string(),
    bytes: z.int().nullable().describe("Size in bytes. Null for a file without content."),
    sha256: z.string().nullable(),
  })
  .meta({ id: "TurnPart" });

const runSummary = z
  .object({
    durationMs: z.number(),
    modelRequests: z.int(),
    usage: usageSchema,
    byModel: z.record(z.string(), usageSchema),
    contextTokens: z
      .int()
      .nullable()
      .describe(
        "The size of the conversation after this turn: the tokens of the last model call. Null if it is unknown.",
      ),
  })
  .meta({ id: "RunSummary" });

const subagent = z
  .object({
    id: idSchema.describe("The id of its first turn."),
    name: z.string(),
    owner: idSchema.nullable().describe("The subagent that started it. Null: the session's agent started it."),
    level: z.int().describe("Depth of the subagent: 1 if the session's agent started it."),
    tools: z
      .array(z.string())
      .nullable()
      .describe("The tools that it may use. Null: all tools of the agent that started it."),
  })
  .meta({ id: "Subagent" });

const foreign = z
  .object({
    tool: z.enum(foreignTools),
    version: z.string().nullable().describe("The version of the tool. Null: unknown."),
    sessionId: z.string().describe("The id of the conversation in that tool."),
    turn: z.string().describe("The id of the turn in that conversation."),
    bytes: z.int().describe("The size of the source, which `/api/turns/{id}/source` returns."),
    sha256: z.string().describe("SHA-256 of the source."),
    unmapped: z
      .record(z.string(), z.int())
      .describe("What was not taken over, by its kind, with its number. It remains in the source."),
  })
  .meta({ id: "ForeignOrigin" });

const common = {
  id: idSchema,
  sessionId: idSchema,
  parentId: idSchema.nullable(),
  rerunOf: idSchema.nullable().describe("The turn that this one repeats."),
  sequence: z.int(),
  depth: z.int(),
  kind: z.enum(["agent", "async_subagent"]),
  spawnedBy: idSchema
    .nullable()
    .describe("For a subagent's turn: the turn that started it, or that sent the subagent a message to continue."),
  subagent: subagent.nullable().describe("Null if the turn belongs to the session's agent."),
  status: turnStatusSchema,
  createdAt: timeSchema,
  statusAt: timeSchema.nullable().describe("Null while the turn runs."),
  createdBy: z.string(),
  mode: z.string(),
  provider: z.string(),
  model: z.string(),
  instructionSummary: z.string(),
  answerSummary: z.string().nullable(),
  stopReason: stopReasonSchema.nullable(),
  failures: z
    .array(failureSchema)
    .describe("The failures of the turn. If the turn failed, the first one is the reason."),
};

export const turnSummarySchema = z
  .object({
    ...common,
    durationMs: z.number().nullable(),
    usage: usageSchema.nullable(),
    warningCount: z.int(),
    wasCompacted: z.boolean().describe("True if the history was shortened for this turn."),
  })
  .meta({ id: "TurnSummary" });
export type WireTurnSummary = z.infer<typeof turnSummarySchema>;

export const turnSchema = z
  .object({
    ...common,
    workspaceId: z.string().nullable(),
    repo: z.string().nullable(),
    answeredAt: timeSchema.nullable().describe("The time when the provider's last answer ended."),
    providerResponseId: z.string().nullable(),
    previousProviderResponseId: z.string().nullable(),
    chainExpiresAt: timeSchema.nullable(),
    digest: z
      .string()
      .nullable()
      .describe(
        "SHA-256 of the parent's digest and of everything that is stored for the turn. Null while the turn runs.",
      ),
    foreign: foreign.nullable().describe("The origin of a turn that another tool ran. Null: aptove ran it."),
    input: z.array(turnPart).describe("The input parts of the instruction, except text."),
    finalMessage: z.string().nullable().describe("The last message, if the answer has several."),
    deferredCalls: z.array(deferredCallSchema),
    warnings: z.array(warningSchema),
    run: runSummary.nullable().describe("Null while the turn runs."),
    manifest: contextManifestSchema,
    steps: z.array(stepSchema),
  })
  .meta({ id: "Turn" });
export type WireTurn = z.infer<typeof turnSchema>;

export const turnListSchema = z
  .object({
    turns: z
      .array(
        turnSummarySchema.extend({
          instruction: z.string().optional().describe("The whole instruction. Present with `texts=whole`."),
          answer: z.string().optional().describe("The whole answer so far. Present with `texts=whole`."),
          faults: z
            .array(z.string())
            .optional()
            .describe("With `texts=whole`: what is damaged or missing, so that a text cannot be read."),
        }),
      )
      .describe("Newest first."),
    nextBefore: z.int().nullable().describe("The value of `before` for the next page. Null on the last page."),
  })
  .meta({ id: "TurnList" });
export type WireTurnList = z.infer<typeof turnListSchema>;

export const turnContextSchema = z
  .object({
    turnId: idSchema,
    manifest: contextManifestSchema,
    prompt: z
      .string()
      .nullable()
      .describe(
        "The boot prompt that was used. Null if the turn was imported without it, or if an old version made the turn.",
      ),
    message: z.array(z.string()).describe("The parts of the user message exactly as the model received them."),
  })
  .meta({ id: "TurnContext" });
export type WireTurnContext = z.infer<typeof turnContextSchema>;

export const interruptionSchema = z
  .object({
    interruptedTurnId: idSchema
      .nullable()
      .describe(
        "The turn that was stopped. For a session: the agent's turn, or a subagent's turn if the agent had none. Null: no turn was running.",
      ),
  })
  .meta({ id: "Interruption" });

export const steeringSchema = z.object({ steeredTurnId: idSchema }).meta({ id: "Steering" });

export const steerSchema = z
  .strictObject({ text: z.string().describe("The message, which the model receives at the turn's next step.") })
  .meta({ id: "Steer" });

/** The outcome of a turn in one shape for every status. An archived turn has the outcome that it had before. */
export interface TurnOutcome {
  status: FinishedTurn["status"] | "pending";
  stopReason: StopReason | null;
  answerSummary: string | null;
  finalMessage: string | null;
  deferredCalls: DeferredCall[];
  failures: Failure[];
}

export function turnOutcome(of: Turn | ArchivedTurn["was"]): TurnOutcome {
  const none = { stopReason: null, answerSummary: null, finalMessage: null, deferredCalls: [], failures: [] };
  switch (of.status) {
    case "pending":
      return { ...none, status: of.status };
    case "failed":
      return { ...none, status: of.status, failures: of.failures };
    case "archived":
      return turnOutcome(of.was);
    case "completed":
    case "awaiting_tool_results": {
      const { status, answerSummary, finalMessage } = of;
      const deferredCalls = of.status === "completed" ? [] : of.deferredCalls;
      return { ...none, status, stopReason: of.stopReason, answerSummary, finalMessage, deferredCalls };
    }
  }
}

function toCommon(of: Turn) {
  const outcome = turnOutcome(of);
  return {
    id: of.id,
    sessionId: of.sessionId,
    parentId: of.parentId,
    rerunOf: of.rerunOf,
    sequence: of.sequence,
    depth: of.depth,
    kind: of.kind,
    spawnedBy: of.spawnedBy,
    subagent: of.subagent ?? null,
    status: of.status,
    createdAt: isoTime(of.createdAt),
    statusAt: of.status === "pending" ? null : isoTime(of.statusAt),
    createdBy: of.createdBy,
    mode: of.mode,
    provider: of.provider,
    model: of.model,
    instructionSummary: of.instructionSummary,
    answerSummary: outcome.answerSummary,
    stopReason: outcome.stopReason,
    failures: outcome.failures.map(toWireFailure),
  };
}

export function toWireTurnSummary(of: Turn): WireTurnSummary {
  const run = of.status === "pending" ? null : of.run;
  return {
    ...toCommon(of),
    durationMs: run?.durationMs ?? null,
    usage: run === null ? null : toWireUsage(run.usage),
    warningCount: of.warnings.length,
    wasCompacted: of.warnings.some(({ code }) => code === "history_compacted"),
  };
}

function toWireRun(of: RunSummary): NonNullable<WireTurn["run"]> {
  return {
    durationMs: of.durationMs,
    modelRequests: of.modelRequests,
    usage: toWireUsage(of.usage),
    byModel: Object.fromEntries(Object.entries(of.byModel).map(([model, used]) => [model, toWireUsage(used)])),
    contextTokens: countedContext(of),
  };
}

function toWireForeign({ source: { bytes, sha256 }, ...of }: ForeignRef): NonNullable<WireTurn["foreign"]> {
  return { ...of, bytes, sha256 };
}

export function toWireTurn(of: Turn, steps: readonly Step[]): WireTurn {
  const outcome = turnOutcome(of);
  const ended = of.status === "pending" ? null : of;
  return {
    ...toCommon(of),
    workspaceId: of.workspaceId,
    repo: of.repo,
    answeredAt: isoTimeOrNull(ended?.answeredAt ?? null),
    providerResponseId: ended?.chain.responseId ?? null,
    previousProviderResponseId: ended?.chain.previousResponseId ?? null,
    chainExpiresAt: isoTimeOrNull(ended?.chain.expiresAt ?? null),
    digest: ended?.digest ?? null,
    foreign: of.foreign === undefined ? null : toWireForeign(of.foreign),
    input: (of.input ?? []).map(({ content, ...part }) => ({
      ...part,
      bytes: content?.bytes ?? null,
      sha256: content?.sha256 ?? null,
    })),
    finalMessage: outcome.finalMessage,
    deferredCalls: outcome.deferredCalls,
    warnings: of.warnings,
    run: ended === null ? null : toWireRun(ended.run),
    manifest: of.manifest,
    steps: steps.map(toWireStep),
  };
}
