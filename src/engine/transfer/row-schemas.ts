/** The schemas of turns and steps in an export. */
import * as z from "zod";
import { skipReasons } from "../../domain/active-file.ts";
import { chunkReasons } from "../../domain/chunk.ts";
import { foreignTools } from "../../domain/foreign.ts";
import { errorCatalogue, type ErrorCode, type Failure, type Warning, type WarningCode } from "../../domain/errors.ts";
import type { Step } from "../../domain/step.ts";
import type { StoredTurn } from "../turn/kept/turn-order.ts";
import {
  byName,
  fieldText,
  exactly,
  list,
  nonEmptyList,
  sha256Hex,
  time,
  uuid,
  wholeFromOne,
  wholeFromZero,
} from "./schema.ts";
import { passage, settings } from "./session-schema.ts";

export const exportedUsageSchema = z.strictObject({
  input: wholeFromZero,
  output: wholeFromZero,
  cached: wholeFromZero,
  reasoning: wholeFromZero,
  total: wholeFromZero,
  written: wholeFromZero.exactOptional(),
  costUsd: z.number().exactOptional(),
  isPartial: z.literal(true).exactOptional(),
});

export const exportedStopReasonSchema = z.enum([
  "stop",
  "length",
  "tool_calls",
  "content_filter",
  "interrupted",
  "step_limit",
]);

// Null stays, as an unknown wait: earlier builds stored it where a provider asked for a wait without end.
const wait = z.custom<number>(
  (value) => value === null || (Number.isSafeInteger(value) && Number(value) >= 0),
  "is not a whole number from 0",
);

export const exportedFailureSchema = exactly<Failure>()(
  z.strictObject({
    code: z.enum(Object.keys(errorCatalogue) as [ErrorCode, ...ErrorCode[]]),
    message: z.string(),
    retryable: z.boolean(),
    retryAfterSeconds: wait.exactOptional(),
  }),
);

// A later version may have codes that this one does not know: a warning is only shown.
const warningCode = z.custom<WarningCode>(
  (value) => typeof value === "string" && /^[a-z_]{1,64}$/.test(value),
  "is not a code",
);

export const exportedWarningSchema = exactly<Warning>()(z.strictObject({ code: warningCode, message: z.string() }));

export const historySourceSchema = z.enum(["none", "chain", "replay"]);

export const exportedDeferredCallSchema = z.strictObject({
  callId: z.string(),
  name: z.string(),
  arguments: z.string(),
  waitsFor: z.enum(["client", "approval"]),
  budgetIds: z.array(z.string()).exactOptional(),
});

const chunkRef = z.strictObject({
  id: z.string(),
  path: z.string(),
  startLine: z.number(),
  endLine: z.number(),
  contentHash: z.string(),
  document: z.string().exactOptional(),
  wasSent: z.boolean(),
  notSentBecause: z.enum(chunkReasons).exactOptional(),
});

const activeFileRef = z.strictObject({
  path: z.string(),
  contentHash: z.string(),
  sizeBytes: z.number().nullable(),
  isTouched: z.boolean(),
  wasSentToLLM: z.boolean(),
  wasTooLargeToSend: z.boolean(),
});

const skippedFile = z.strictObject({
  path: z.string(),
  reason: z.enum(skipReasons),
  sizeBytes: z.number().nullable(),
});

const contextRef = z.strictObject({ id: z.string(), hash: z.string(), version: wholeFromOne.exactOptional() });

const mailboxRef = z.strictObject({
  turnId: uuid,
  subagentId: uuid,
  kind: z.enum(["subagent_result", "subagent_failed"]),
  contentHash: z.string(),
});

const rulesRef = z.strictObject({
  files: list(z.strictObject({ path: z.string(), contentHash: z.string(), sizeBytes: wholeFromZero })),
  hash: z.string(),
  characters: wholeFromZero,
  changed: list(z.strictObject({ path: z.string(), contentHash: z.string(), wasSent: z.boolean() })).exactOptional(),
});

const placeRef = z.strictObject({
  folder: z.string(),
  platform: z.string(),
  date: z.string(),
  branch: z.string().nullable(),
  modifiedFiles: wholeFromZero.nullable(),
  contentHash: z.string(),
  wasSent: z.boolean(),
});

const pinRef = z.strictObject({ ...passage, given: z.enum(["turn", "passage"]), wasSent: z.boolean() });

const factRef = z.strictObject({
  id: z.string(),
  workspaceId: z.string(),
  contentHash: z.string(),
  sourceTurnId: uuid.nullable(),
  wasSent: z.boolean(),
});

const skillRead = z.strictObject({ name: z.string(), path: z.string(), contentHash: z.string() });

const skillsRef = z.strictObject({
  offered: list(skillRead.extend({ source: z.enum(["repository", "workspace"]) })),
  contentHash: z.string(),
  wasSent: z.boolean(),
  read: list(skillRead).exactOptional(),
});

const manifest = z.strictObject({
  agentContext: contextRef,
  conversationContext: contextRef,
  promptHash: z.string(),
  toolsHash: z.string(),
  history: historySourceSchema,
  settings,
  chunks: list(chunkRef),
  searchWasKept: z.literal(true).exactOptional(),
  activeFiles: list(activeFileRef),
  skippedFiles: list(skippedFile),
  historyTurns: wholeFromZero,
  clientTools: uuid.exactOptional(),
  mailbox: list(mailboxRef).exactOptional(),
  pins: list(pinRef).exactOptional(),
  rules: rulesRef.exactOptional(),
  place: placeRef.exactOptional(),
  facts: list(factRef).exactOptional(),
  skills: skillsRef.exactOptional(),
});

const runSummary = z.strictObject({
  durationMs: z.number(),
  modelRequests: wholeFromZero,
  usage: exportedUsageSchema,
  byModel: byName(exportedUsageSchema),
  contextTokens: wholeFromZero.exactOptional(),
});

const providerChain = z.strictObject({
  account: z.string().nullable(),
  responseId: z.string().nullable(),
  previousResponseId: z.string().nullable(),
  expiresAt: time.nullable(),
});

const partContent = { bytes: wholeFromZero, sha256: sha256Hex, blob: z.string() };

export const partRefSchema = z.strictObject({ name: z.string(), mediaType: z.string(), ...partContent });

const turnPart = z.strictObject({
  type: z.enum(["url", "file", "binary"]),
  mode: z.enum(["file", "inline"]),
  source: z.string().nullable(),
  name: z.string(),
  mediaType: z.string(),
  content: z.strictObject(partContent).nullable(),
});

const subagentRef = z.strictObject({
  id: uuid,
  name: fieldText,
  owner: uuid.nullable(),
  level: wholeFromOne,
  tools: list(z.string()).nullable(),
});

const foreignRef = z.strictObject({
  tool: z.enum(foreignTools),
  version: z.string().nullable(),
  sessionId: z.string(),
  turn: z.string(),
  source: z.strictObject(partContent),
  unmapped: byName(wholeFromZero),
});

/** The fields of every finished turn. */
const finished = {
  id: uuid,
  sessionId: uuid,
  parentId: uuid.nullable(),
  depth: wholeFromOne,
  sequence: wholeFromOne,
  kind: z.enum(["agent", "async_subagent"]),
  spawnedBy: uuid.nullable(),
  subagent: subagentRef.exactOptional(),
  rerunOf: uuid.nullable(),
  createdAt: time,
  createdBy: fieldText,
  mode: z.string(),
  provider: z.string(),
  model: z.string(),
  instructionSummary: z.string(),
  input: list(turnPart).exactOptional(),
  workspaceId: z.string().nullable(),
  repo: z.string().nullable(),
  manifest,
  blobs: z.strictObject({ opening: z.string(), run: z.string().nullable(), state: z.string().nullable() }),
  warnings: list(exportedWarningSchema),
  answeredAt: time.nullable(),
  statusAt: time,
  run: runSummary,
  chain: providerChain,
  digest: sha256Hex.nullable(),
  foreign: foreignRef.exactOptional(),
  historyKey: fieldText.exactOptional(),
  hiddenAt: time.exactOptional(),
};

const completed = {
  status: z.literal("completed"),
  stopReason: exportedStopReasonSchema,
  answerSummary: z.string(),
  finalMessage: z.string().nullable(),
};

const awaiting = {
  status: z.literal("awaiting_tool_results"),
  stopReason: z.literal("tool_calls"),
  answerSummary: z.string(),
  finalMessage: z.string().nullable(),
  deferredCalls: list(exportedDeferredCallSchema),
};

const failed = {
  status: z.literal("failed"),
  failures: nonEmptyList(exportedFailureSchema),
};

const outcome = z.discriminatedUnion("status", [
  z.strictObject(completed),
  z.strictObject(awaiting),
  z.strictObject(failed),
]);

export const exportedTurnSchema = exactly<StoredTurn>()(
  z.discriminatedUnion("status", [
    z.strictObject({ ...finished, ...completed }),
    z.strictObject({ ...finished, ...awaiting }),
    z.strictObject({ ...finished, ...failed }),
    z.strictObject({ ...finished, status: z.literal("archived"), was: outcome }),
  ]),
);

const stepOutcome = z.discriminatedUnion("status", [
  z.strictObject({ status: z.literal("completed"), stopReason: exportedStopReasonSchema }),
  z.strictObject({ status: z.literal("failed"), failure: exportedFailureSchema }),
]);

export const exportedStepSchema = exactly<Step>()(
  z.strictObject({
    turnId: uuid,
    index: wholeFromOne,
    provider: z.string(),
    model: z.string(),
    startedAt: time,
    endedAt: time,
    previousResponseId: z.string().nullable(),
    responseId: z.string().nullable(),
    request: z.strictObject({ blob: z.string(), bytes: wholeFromZero, sha256: sha256Hex }),
    outcome: stepOutcome,
    usage: exportedUsageSchema,
  }),
);
