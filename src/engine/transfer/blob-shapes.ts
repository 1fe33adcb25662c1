/** The forms of a turn's blobs. */
import type { GatheredContext, KeptEvent } from "../../domain/events.ts";
import type { HistoryItem } from "../../domain/history.ts";
import type { HistorySummary, SentChunk, SentFile, StateEntry, StateFile } from "../../domain/lineage.ts";
import type {
  PlanStep,
  ToolCallView,
  ToolContent,
  ToolFeedback,
  ToolLocation,
  ToolPermission,
} from "../../domain/tool.ts";
import type { DeliveredMessage } from "../turn/request/mailbox-block.ts";
import type { RecipePiece, RequestRecipe } from "../turn/request/recipe.ts";
import type { OpeningBlob, PartBlob, RequestBlob, RunBlob } from "../turn/kept/turn-blobs.ts";
import { deferredCall, failure, historySource, partRef, stopReason, usage, warning } from "./row-shapes.ts";
import {
  count,
  fields,
  flag,
  hash,
  id,
  json,
  list,
  literal,
  number,
  oneOf,
  ordinal,
  orNull,
  text,
  variants,
  type Shape,
} from "./shape.ts";

type Item<K extends HistoryItem["type"]> = Extract<HistoryItem, { type: K }>;

const historyItem = variants<HistoryItem, "type">("type", {
  user: fields<Item<"user">>({ type: literal("user"), parts: list(text) }, { media: list(partRef) }),
  assistant: fields<Item<"assistant">>({ type: literal("assistant"), text }, { phase: text }),
  reasoning: fields<Item<"reasoning">>(
    { type: literal("reasoning"), provider: text, model: text, text },
    { opaque: json },
  ),
  tool_call: fields<Item<"tool_call">>({ type: literal("tool_call"), callId: text, name: text, arguments: text }, {}),
  tool_result: fields<Item<"tool_result">>(
    { type: literal("tool_result"), callId: text, output: text },
    { isError: flag },
  ),
});

const stateEntry = fields<StateEntry>(
  {
    turnId: id,
    depth: ordinal,
    items: list(historyItem),
    chunks: list(fields<SentChunk>({ id: text, hash: text, path: text }, {})),
    files: list(fields<SentFile>({ path: text, hash: text }, {})),
  },
  {
    inputs: list(partRef),
    summary: fields<HistorySummary>(
      { throughTurnId: id, throughDepth: ordinal, provider: text, model: text, text },
      {},
    ),
  },
);

export const stateShape = fields<StateFile>(
  { format: literal(1), turnId: id, depth: ordinal, base: orNull(id), entries: list(stateEntry) },
  {},
);

const namedPiece = fields<Exclude<RecipePiece, string>>({ known: text }, {});
const piece: Shape<RecipePiece> = (value, at) => (typeof value === "string" ? null : namedPiece(value, at));

const recipe = fields<RequestRecipe>(
  { hasBase: flag, front: count, end: count, pieces: list(piece), bytes: count, sha256: hash },
  {},
);

const result = fields<Extract<ToolFeedback, { output: string }>>({ callId: text, output: text, isError: flag }, {});
const approval = fields<Extract<ToolFeedback, { approved: boolean }>>(
  { callId: text, approved: flag },
  { reason: text },
);
const feedback: Shape<ToolFeedback> = (value, at) =>
  typeof value === "object" && value !== null && "approved" in value ? approval(value, at) : result(value, at);

export const openingShape = fields<OpeningBlob>(
  {
    format: literal(1),
    turnId: id,
    base: orNull(id),
    instruction: text,
    toolResults: list(feedback),
    message: list(text),
    request: orNull(recipe),
  },
  {
    mailbox: list(
      fields<DeliveredMessage>(
        { turnId: id, subagentId: id, name: text, kind: oneOf({ subagent_result: true, subagent_failed: true }), text },
        {},
      ),
    ),
  },
);

export const partShape = fields<PartBlob>({ format: literal(1), turnId: id, base64: text }, {});

export const requestShape = fields<RequestBlob>(
  { format: literal(1), turnId: id, baseStep: orNull(ordinal), request: recipe },
  {},
);

type Event<K extends KeptEvent["type"]> = Extract<KeptEvent, { type: K }>;

const context = fields<GatheredContext>(
  {
    history: historySource,
    historyTurns: count,
    chunks: list(
      fields<GatheredContext["chunks"][number]>(
        { id: text, path: text, startLine: number, endLine: number, wasSent: flag },
        {},
      ),
    ),
    files: list(fields<GatheredContext["files"][number]>({ path: text, wasSent: flag, wasTooLarge: flag }, {})),
  },
  {},
);

function began<K extends "reasoning_started" | "reasoning_ended" | "text_started" | "text_ended">(type: K) {
  return fields<{ type: K; messageId: string }>({ type: literal(type) as Shape<K>, messageId: text }, {});
}

const toolContent = variants<ToolContent, "type">("type", {
  text: fields<Extract<ToolContent, { type: "text" }>>({ type: literal("text"), text }, {}),
  diff: fields<Extract<ToolContent, { type: "diff" }>>(
    { type: literal("diff"), path: text, oldText: orNull(text), newText: text },
    {},
  ),
  plan: fields<Extract<ToolContent, { type: "plan" }>>(
    {
      type: literal("plan"),
      steps: list(
        fields<PlanStep>({ content: text, status: oneOf({ pending: true, in_progress: true, completed: true }) }, {}),
      ),
    },
    {},
  ),
});

const toolCallView = fields<ToolCallView>(
  {
    title: text,
    kind: oneOf({
      read: true,
      edit: true,
      delete: true,
      move: true,
      search: true,
      execute: true,
      think: true,
      fetch: true,
      other: true,
    }),
    locations: list(fields<ToolLocation>({ path: text }, { line: number })),
    content: list(toolContent),
    permission: orNull(fields<ToolPermission>({ key: text, label: text }, {})),
  },
  {},
);

const event = variants<KeptEvent, "type">("type", {
  run_started: fields<Event<"run_started">>(
    { type: literal("run_started"), sessionId: id, turnId: id, parentTurnId: orNull(id) },
    {},
  ),
  warning: fields<Event<"warning">>({ type: literal("warning"), warning }, {}),
  context: fields<Event<"context">>({ type: literal("context"), context }, {}),
  step_started: fields<Event<"step_started">>({ type: literal("step_started"), step: ordinal }, {}),
  reasoning_started: began("reasoning_started"),
  reasoning_delta: fields<Event<"reasoning_delta">>(
    { type: literal("reasoning_delta"), messageId: text, delta: text },
    {},
  ),
  reasoning_ended: began("reasoning_ended"),
  text_started: began("text_started"),
  text_delta: fields<Event<"text_delta">>({ type: literal("text_delta"), messageId: text, delta: text }, {}),
  text_ended: began("text_ended"),
  tool_call_started: fields<Event<"tool_call_started">>(
    { type: literal("tool_call_started"), callId: text, name: text },
    {},
  ),
  tool_call_delta: fields<Event<"tool_call_delta">>(
    { type: literal("tool_call_delta"), callId: text, delta: text },
    {},
  ),
  tool_call_ended: fields<Event<"tool_call_ended">>({ type: literal("tool_call_ended"), callId: text }, {}),
  tool_call_view: fields<Event<"tool_call_view">>(
    { type: literal("tool_call_view"), callId: text, view: toolCallView },
    {},
  ),
  tool_output_delta: fields<Event<"tool_output_delta">>(
    { type: literal("tool_output_delta"), callId: text, delta: text },
    {},
  ),
  tool_result: fields<Event<"tool_result">>(
    { type: literal("tool_result"), callId: text, output: text, isError: flag },
    { content: list(toolContent) },
  ),
  steered: fields<Event<"steered">>({ type: literal("steered"), text }, {}),
  subagent_started: fields<Event<"subagent_started">>(
    { type: literal("subagent_started"), subagentId: id, turnId: id, name: text, instruction: text },
    {},
  ),
  subagent_ended: fields<Event<"subagent_ended">>(
    {
      type: literal("subagent_ended"),
      subagentId: id,
      turnId: id,
      name: text,
      status: oneOf({ completed: true, failed: true }),
    },
    {},
  ),
  step_finished: fields<Event<"step_finished">>({ type: literal("step_finished"), step: ordinal, usage }, {}),
  run_finished: fields<Event<"run_finished">>(
    {
      type: literal("run_finished"),
      status: oneOf({ completed: true, awaiting_tool_results: true }),
      stopReason,
      usage,
      deferredCalls: list(deferredCall),
    },
    {},
  ),
  run_failed: fields<Event<"run_failed">>({ type: literal("run_failed"), failure, usage }, {}),
  joined: fields<Event<"joined">>(
    {
      type: literal("joined"),
      of: oneOf({ text_delta: true, reasoning_delta: true, tool_call_delta: true, tool_output_delta: true }),
      id: text,
      text,
      lengths: list(count),
    },
    {},
  ),
});

export const runShape = fields<RunBlob>(
  {
    format: literal(1),
    turnId: id,
    events: list(event),
    responses: list(fields<RunBlob["responses"][number]>({ step: ordinal }, { text, base64: text })),
  },
  { outputs: list(fields<NonNullable<RunBlob["outputs"]>[number]>({ callId: text, text }, {})) },
);
