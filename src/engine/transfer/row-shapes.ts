/** The forms of sessions, turns and steps in an export. */
import type { ActiveFileRef, SkippedFile } from "../../domain/active-file.ts";
import type { ChunkRef } from "../../domain/chunk.ts";
import type { ContextManifest, ContextRef, HistorySource, ModelSettings } from "../../domain/context.ts";
import { errorCatalogue, type ErrorCode, type Failure, type Warning, type WarningCode } from "../../domain/errors.ts";
import type { StopReason } from "../../domain/events.ts";
import type { PartRef, TurnPart } from "../../domain/input-part.ts";
import { limits } from "../../domain/limits.ts";
import type { MailboxRef } from "../../domain/mailbox.ts";
import type { Step } from "../../domain/step.ts";
import type { SubagentRef } from "../../domain/subagent.ts";
import type { DeferredCall } from "../../domain/tool.ts";
import type {
  ArchivedTurn,
  AwaitingTurn,
  CompletedTurn,
  FailedTurn,
  FinishedTurn,
  TurnKind,
} from "../../domain/turn.ts";
import type { RunSummary, Usage } from "../../domain/usage.ts";
import type { ExportedSession } from "./format.ts";
import {
  count,
  fields,
  flag,
  hash,
  id,
  jsonObject,
  list,
  listOfSome,
  literal,
  number,
  oneOf,
  ordinal,
  orNull,
  plainText,
  record,
  text,
  variants,
  when,
  type Shape,
} from "./shape.ts";

const labels: Shape<string[]> = (value, at) =>
  Array.isArray(value) && value.length > limits.labelsPerSessionMax
    ? `${at} has more than ${limits.labelsPerSessionMax} labels`
    : list(plainText)(value, at);

const metadata: Shape<Record<string, unknown>> = (value, at) =>
  jsonObject(value, at) ??
  (JSON.stringify(value).length > limits.metadataCharactersMax
    ? `${at} has more than ${limits.metadataCharactersMax} characters`
    : null);

export const sessionShape = fields<ExportedSession>(
  {
    id,
    name: plainText,
    nameIsSet: flag,
    key: plainText,
    description: plainText,
    labels,
    category: orNull(plainText),
    rating: orNull(number),
    agentContextId: plainText,
    conversationContextId: plainText,
    workspaceId: orNull(plainText),
    repo: orNull(plainText),
    defaultLanguage: orNull(plainText),
    metadata,
    originTurnId: orNull(id),
    headTurnId: orNull(id),
    createdAt: count,
    updatedAt: count,
    archivedAt: orNull(count),
  },
  {},
);

export const usage = fields<Usage>(
  { input: number, output: number, cached: number, reasoning: number, total: number },
  { costUsd: number },
);

export const stopReason = oneOf<StopReason>({
  stop: true,
  length: true,
  tool_calls: true,
  content_filter: true,
  interrupted: true,
  step_limit: true,
});

export const failure = fields<Failure>(
  {
    code: oneOf<ErrorCode>(
      Object.fromEntries(Object.keys(errorCatalogue).map((code) => [code, true])) as Record<ErrorCode, true>,
    ),
    message: text,
    retryable: flag,
  },
  {},
);

export const warning = fields<Warning>(
  {
    // A later version may have others: they are only told.
    code: when<WarningCode>("a code", (value) => typeof value === "string" && /^[a-z_]{1,64}$/.test(value)),
    message: text,
  },
  {},
);

export const historySource = oneOf<HistorySource>({ none: true, chain: true, replay: true });

export const deferredCall = fields<DeferredCall>(
  { callId: text, name: text, arguments: text, waitsFor: oneOf({ client: true, approval: true }) },
  {},
);

const settings = fields<ModelSettings>(
  {},
  {
    temperature: number,
    maxOutputTokens: number,
    reasoningEffort: oneOf({ minimal: true, low: true, medium: true, high: true }),
  },
);

const chunkRef = fields<ChunkRef>(
  { id: text, path: text, startLine: number, endLine: number, contentHash: text, wasSent: flag },
  { notSentBecause: oneOf({ already_sent: true, active_file: true }) },
);

const activeFileRef = fields<ActiveFileRef>(
  {
    path: text,
    contentHash: text,
    sizeBytes: orNull(number),
    isTouched: flag,
    wasSentToLLM: flag,
    wasTooLargeToSend: flag,
  },
  {},
);

const skippedFile = fields<SkippedFile>(
  { path: text, reason: oneOf({ too_large: true, content_missing: true }), sizeBytes: orNull(number) },
  {},
);

const contextName = fields<ContextRef>({ id: text, hash: text }, { version: ordinal });

const mailboxRef = fields<MailboxRef>(
  { turnId: id, subagentId: id, kind: oneOf({ subagent_result: true, subagent_failed: true }), contentHash: text },
  {},
);

const manifest = fields<ContextManifest>(
  {
    agentContext: contextName,
    conversationContext: contextName,
    promptHash: text,
    toolsHash: text,
    history: historySource,
    settings,
    chunks: list(chunkRef),
    activeFiles: list(activeFileRef),
    skippedFiles: list(skippedFile),
    historyTurns: count,
  },
  { mailbox: list(mailboxRef) },
);

const run = fields<RunSummary>({ durationMs: number, modelRequests: count, usage, byModel: record(usage) }, {});

/** What every finished turn has, whatever came of it. */
const finished = {
  id,
  sessionId: id,
  parentId: orNull(id),
  depth: ordinal,
  sequence: ordinal,
  kind: oneOf<TurnKind>({ agent: true, async_subagent: true }),
  spawnedBy: orNull(id),
  rerunOf: orNull(id),
  createdAt: count,
  createdBy: plainText,
  mode: text,
  provider: text,
  model: text,
  instructionSummary: text,
  workspaceId: orNull(text),
  repo: orNull(text),
  manifest,
  blobs: fields<FinishedTurn["blobs"]>({ opening: text, run: orNull(text), state: orNull(text) }, {}),
  warnings: list(warning),
  answeredAt: orNull(count),
  statusAt: count,
  run,
  chain: fields<FinishedTurn["chain"]>(
    { account: orNull(text), responseId: orNull(text), previousResponseId: orNull(text), expiresAt: orNull(count) },
    {},
  ),
  digest: orNull(hash),
};

const partContent = { bytes: count, sha256: hash, blob: text };

export const partRef = fields<PartRef>({ name: text, mediaType: text, ...partContent }, {});

const turnPart = fields<TurnPart>(
  {
    type: oneOf({ url: true, file: true, binary: true }),
    mode: oneOf({ file: true, inline: true }),
    source: orNull(text),
    name: text,
    mediaType: text,
    content: orNull(fields<NonNullable<TurnPart["content"]>>(partContent, {})),
  },
  {},
);

/** What not every turn has: an input beside its instruction, and what only a subagent's has. */
const more = {
  input: list(turnPart),
  subagent: fields<SubagentRef>(
    { id, name: plainText, owner: orNull(id), level: ordinal, tools: orNull(list(text)) },
    {},
  ),
};

const completed = { status: literal("completed"), stopReason, answerSummary: text, finalMessage: orNull(text) };
const awaiting = {
  status: literal("awaiting_tool_results"),
  stopReason: literal("tool_calls"),
  answerSummary: text,
  finalMessage: orNull(text),
  deferredCalls: list(deferredCall),
};
const failed = { status: literal("failed"), failures: listOfSome(failure) };

type Outcome = ArchivedTurn["was"];

export const turnShape = variants<FinishedTurn | ArchivedTurn, "status">("status", {
  completed: fields<CompletedTurn>({ ...finished, ...completed }, more),
  awaiting_tool_results: fields<AwaitingTurn>({ ...finished, ...awaiting }, more),
  failed: fields<FailedTurn>({ ...finished, ...failed }, more),
  archived: fields<ArchivedTurn>(
    {
      ...finished,
      status: literal("archived"),
      was: variants<Outcome, "status">("status", {
        completed: fields<Extract<Outcome, { status: "completed" }>>(completed, {}),
        awaiting_tool_results: fields<Extract<Outcome, { status: "awaiting_tool_results" }>>(awaiting, {}),
        failed: fields<Extract<Outcome, { status: "failed" }>>(failed, {}),
      }),
    },
    more,
  ),
});

export const stepShape = fields<Step>(
  {
    turnId: id,
    index: ordinal,
    provider: text,
    model: text,
    startedAt: count,
    endedAt: count,
    previousResponseId: orNull(text),
    responseId: orNull(text),
    request: fields<Step["request"]>({ blob: text, bytes: count, sha256: hash }, {}),
    outcome: variants<Step["outcome"], "status">("status", {
      completed: fields<Extract<Step["outcome"], { status: "completed" }>>(
        { status: literal("completed"), stopReason },
        {},
      ),
      failed: fields<Extract<Step["outcome"], { status: "failed" }>>({ status: literal("failed"), failure }, {}),
    }),
    usage,
  },
  {},
);
