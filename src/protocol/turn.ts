/** Turns on the wire (T4): whole, as a summary for lists, and what the model was given. */
import { z } from "zod";
import { isoTime } from "../domain/ids.ts";
import type { Step } from "../domain/step.ts";
import type { DeferredCall } from "../domain/tool.ts";
import type { Failure } from "../domain/errors.ts";
import type { StopReason } from "../domain/events.ts";
import type { ArchivedTurn, FinishedTurn, Turn } from "../domain/turn.ts";
import type { RunSummary } from "../domain/usage.ts";
import { mailboxKind } from "./mailbox.ts";
import { isoTimeOrNull } from "./session.ts";
import { toWireStep, step } from "./step.ts";
import {
  deferredCall,
  failure,
  id,
  modelSettings,
  stopReason,
  time,
  toWireUsage,
  turnStatus,
  usage,
} from "./values.ts";
import { warning } from "./values.ts";

const contextRef = z.object({
  id: z.string(),
  hash: z.string(),
  version: z.int().optional().describe("Of the org's record that counted; absent: the configuration said it."),
});

const manifest = z
  .object({
    agentContext: contextRef,
    conversationContext: contextRef,
    promptHash: z.string(),
    toolsHash: z.string(),
    history: z.enum(["none", "chain", "replay"]).describe("How the model got its history."),
    historyTurns: z.int(),
    settings: modelSettings,
    chunks: z.array(
      z.object({
        id: z.string(),
        path: z.string(),
        startLine: z.int(),
        endLine: z.int(),
        contentHash: z.string(),
        wasSent: z.boolean(),
        notSentBecause: z.enum(["already_sent", "active_file"]).optional(),
      }),
    ),
    activeFiles: z.array(
      z.object({
        path: z.string(),
        contentHash: z.string(),
        sizeBytes: z.int().nullable(),
        isTouched: z.boolean(),
        wasSentToLLM: z.boolean(),
        wasTooLargeToSend: z.boolean(),
      }),
    ),
    skippedFiles: z.array(
      z.object({
        path: z.string(),
        reason: z.enum(["too_large", "content_missing"]),
        sizeBytes: z.int().nullable(),
      }),
    ),
    mailbox: z
      .array(z.object({ turnId: id, subagentId: id, kind: mailboxKind, contentHash: z.string() }))
      .optional()
      .describe("Messages of subagents that the model was given; absent: none."),
  })
  .meta({ id: "ContextManifest", description: "What the turn gave the model, each thing with its hash." });

const turnPart = z
  .object({
    type: z.enum(["url", "file", "binary"]),
    mode: z.enum(["file", "inline"]),
    source: z.string().nullable().describe("The address or path."),
    name: z.string().describe("By which the model knows it."),
    mediaType: z.string(),
    bytes: z.int().nullable().describe("Null: a file that was only named."),
    sha256: z.string().nullable(),
  })
  .meta({ id: "TurnPart" });

const runSummary = z
  .object({
    durationMs: z.number(),
    modelRequests: z.int(),
    usage,
    byModel: z.record(z.string(), usage),
  })
  .meta({ id: "RunSummary" });

const subagent = z
  .object({
    id: id.describe("The id of its first turn."),
    name: z.string(),
    owner: id.nullable().describe("The subagent that began it; null: the session's agent."),
    level: z.int().describe("1 for those of the session's agent."),
    tools: z.array(z.string()).nullable().describe("The tools that it may use; null: all of whoever began it."),
  })
  .meta({ id: "Subagent" });

const common = {
  id,
  sessionId: id,
  parentId: id.nullable(),
  rerunOf: id.nullable().describe("The turn that this one repeats."),
  sequence: z.int(),
  depth: z.int(),
  kind: z.enum(["agent", "async_subagent"]),
  spawnedBy: id.nullable().describe("Of a subagent's turn: the turn that began it, or told the subagent to go on."),
  subagent: subagent.nullable().describe("Null: the turn is the agent's."),
  status: turnStatus,
  createdAt: time,
  statusAt: time.nullable().describe("Null while the turn runs."),
  createdBy: z.string(),
  mode: z.string(),
  provider: z.string(),
  model: z.string(),
  instructionSummary: z.string(),
  answerSummary: z.string().nullable(),
  stopReason: stopReason.nullable(),
  failures: z.array(failure).describe("Of a failed turn, the first is why it failed."),
};

export const turnSummary = z
  .object({ ...common, durationMs: z.number().nullable(), usage: usage.nullable(), warningCount: z.int() })
  .meta({ id: "TurnSummary" });
export type WireTurnSummary = z.infer<typeof turnSummary>;

export const turn = z
  .object({
    ...common,
    workspaceId: z.string().nullable(),
    repo: z.string().nullable(),
    answeredAt: time.nullable().describe("When the provider's last answer ended."),
    providerResponseId: z.string().nullable(),
    previousProviderResponseId: z.string().nullable(),
    chainExpiresAt: time.nullable(),
    digest: z
      .string()
      .nullable()
      .describe("SHA-256 over the parent's digest and all that is kept of the turn; null while it runs."),
    input: z.array(turnPart).describe("What came with the instruction, beside text."),
    finalMessage: z.string().nullable().describe("The last message, where the answer has several."),
    deferredCalls: z.array(deferredCall),
    warnings: z.array(warning),
    run: runSummary.nullable().describe("Null while the turn runs."),
    manifest,
    steps: z.array(step),
  })
  .meta({ id: "Turn" });
export type WireTurn = z.infer<typeof turn>;

export const turnList = z
  .object({
    turns: z.array(turnSummary).describe("Newest first."),
    nextBefore: z.int().nullable().describe("`before` for the next page; null on the last."),
  })
  .meta({ id: "TurnList" });
export type WireTurnList = z.infer<typeof turnList>;

export const turnContext = z
  .object({
    turnId: id,
    manifest,
    prompt: z
      .string()
      .nullable()
      .describe("The boot prompt of the session as it counted; null: the turn came from elsewhere, or is too old."),
    message: z.array(z.string()).describe("The parts of the user message exactly as the model got them."),
  })
  .meta({ id: "TurnContext" });
export type WireTurnContext = z.infer<typeof turnContext>;

export const interruption = z
  .object({
    interruptedTurnId: id
      .nullable()
      .describe("Of a session: the agent's turn, or where none ran that of a subagent. Null: nothing was running."),
  })
  .meta({ id: "Interruption" });

export const steering = z.object({ steeredTurnId: id }).meta({ id: "Steering" });

export const steer = z
  .strictObject({ text: z.string().describe("What the model is told at the turn's next step.") })
  .meta({ id: "Steer" });

/** What became of a turn, in one shape for every status; an archived turn keeps what it was. */
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
    failures: outcome.failures,
  };
}

export function toWireTurnSummary(of: Turn): WireTurnSummary {
  const run = of.status === "pending" ? null : of.run;
  return {
    ...toCommon(of),
    durationMs: run?.durationMs ?? null,
    usage: run === null ? null : toWireUsage(run.usage),
    warningCount: of.warnings.length,
  };
}

function toWireRun(of: RunSummary): NonNullable<WireTurn["run"]> {
  return {
    durationMs: of.durationMs,
    modelRequests: of.modelRequests,
    usage: toWireUsage(of.usage),
    byModel: Object.fromEntries(Object.entries(of.byModel).map(([model, used]) => [model, toWireUsage(used)])),
  };
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
