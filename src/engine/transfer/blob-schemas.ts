/** The schemas of a turn's blobs. */
import * as z from "zod";
import type { KeptEvent } from "../../domain/events.ts";
import type { StateFile } from "../../domain/lineage.ts";
import type { OpeningBlob, PartBlob, RequestBlob, RunBlob } from "../turn/kept/turn-blobs.ts";
import {
  exportedDeferredCallSchema,
  exportedFailureSchema,
  historySourceSchema,
  partRefSchema,
  exportedStopReasonSchema,
  exportedUsageSchema,
  exportedWarningSchema,
} from "./row-schemas.ts";
import { exactly, jsonObject, list, sha256Hex, shallowJson, uuid, wholeFromOne, wholeFromZero } from "./schema.ts";

const historyItem = z.discriminatedUnion("type", [
  z.strictObject({
    type: z.literal("user"),
    parts: list(z.string()),
    media: list(partRefSchema).exactOptional(),
    rank: z.literal("system").exactOptional(),
  }),
  z.strictObject({ type: z.literal("assistant"), text: z.string(), phase: z.string().exactOptional() }),
  z.strictObject({
    type: z.literal("reasoning"),
    provider: z.string(),
    model: z.string(),
    text: z.string(),
    opaque: shallowJson.exactOptional(),
  }),
  z.strictObject({ type: z.literal("tool_call"), callId: z.string(), name: z.string(), arguments: z.string() }),
  z.strictObject({
    type: z.literal("tool_result"),
    callId: z.string(),
    output: z.string(),
    isError: z.boolean().exactOptional(),
    media: list(partRefSchema).exactOptional(),
  }),
]);

const historySummary = z.strictObject({
  throughTurnId: uuid,
  throughDepth: wholeFromOne,
  throughItems: wholeFromOne.exactOptional(),
  instruction: z.string().exactOptional(),
  provider: z.string(),
  model: z.string(),
  text: z.string(),
  unnamed: z.string().exactOptional(),
  pinned: z.strictObject({ ids: list(uuid), block: z.string() }).exactOptional(),
});

const stateEntry = z.strictObject({
  turnId: uuid,
  depth: wholeFromOne,
  items: list(historyItem),
  chunks: list(z.strictObject({ id: z.string(), hash: z.string(), path: z.string() })),
  files: list(
    z.strictObject({
      path: z.string(),
      hash: z.string(),
      isNews: z.literal(true).exactOptional(),
      indexed: z.string().exactOptional(),
    }),
  ),
  rules: list(z.strictObject({ path: z.string(), hash: z.string() })).exactOptional(),
  hides: list(z.strictObject({ turnId: uuid, at: wholeFromZero })).exactOptional(),
  pins: list(uuid).exactOptional(),
  facts: list(z.strictObject({ id: z.string(), workspaceId: z.string(), hash: z.string() })).exactOptional(),
  forgets: list(z.string()).exactOptional(),
  warned: list(z.string()).exactOptional(),
  inputs: list(partRefSchema).exactOptional(),
  summary: historySummary.exactOptional(),
});

const state = exactly<StateFile>()(
  z.strictObject({
    format: z.literal(1),
    turnId: uuid,
    depth: wholeFromOne,
    base: uuid.nullable(),
    entries: list(stateEntry),
  }),
);

const recipe = z.strictObject({
  hasBase: z.boolean(),
  front: wholeFromZero,
  end: wholeFromZero,
  pieces: list(z.union([z.string(), z.strictObject({ known: z.string() })])),
  bytes: wholeFromZero,
  sha256: sha256Hex,
});

const toolFeedback = z.union([
  z.strictObject({
    callId: z.string(),
    output: z.string(),
    isError: z.boolean(),
    media: list(partRefSchema).exactOptional(),
  }),
  z.strictObject({ callId: z.string(), approved: z.boolean(), reason: z.string().exactOptional() }),
]);

const deliveredMessage = z.strictObject({
  turnId: uuid,
  subagentId: uuid,
  name: z.string(),
  kind: z.enum(["subagent_result", "subagent_failed"]),
  text: z.string(),
});

const toolDefinition = z.strictObject({
  name: z.string(),
  description: z.string().exactOptional(),
  parameters: z.record(z.string(), z.unknown()),
  strict: z.boolean().exactOptional(),
  effect: z.enum(["read", "write", "run"]).exactOptional(),
});

const askedBeside = z.strictObject({
  language: z.string().exactOptional(),
  pathPrefixes: list(z.string()).exactOptional(),
  toolChoice: z.string().exactOptional(),
  allowedTools: list(z.string()).exactOptional(),
  mustCallTool: z.literal(true).exactOptional(),
  onlyNamedTools: z.literal(true).exactOptional(),
  onlyListsTools: z.literal(true).exactOptional(),
  instructionsAt: z.strictObject({ from: wholeFromZero, to: wholeFromZero }).exactOptional(),
  clientData: jsonObject.exactOptional(),
});

const opening = exactly<OpeningBlob>()(
  z.strictObject({
    format: z.literal(1),
    turnId: uuid,
    base: uuid.nullable(),
    instruction: z.string(),
    earlier: list(historyItem).exactOptional(),
    toolResults: list(toolFeedback),
    mailbox: list(deliveredMessage).exactOptional(),
    tools: list(toolDefinition).exactOptional(),
    asked: askedBeside.exactOptional(),
    message: list(z.string()),
    request: recipe.nullable(),
  }),
);

const part = exactly<PartBlob>()(z.strictObject({ format: z.literal(1), turnId: uuid, base64: z.string() }));

const request = exactly<RequestBlob>()(
  z.strictObject({ format: z.literal(1), turnId: uuid, baseStep: wholeFromOne.nullable(), request: recipe }),
);

const gatheredContext = z.strictObject({
  history: historySourceSchema,
  historyTurns: wholeFromZero,
  chunks: list(
    z.strictObject({
      id: z.string(),
      path: z.string(),
      startLine: z.number(),
      endLine: z.number(),
      wasSent: z.boolean(),
    }),
  ),
  files: list(z.strictObject({ path: z.string(), wasSent: z.boolean(), wasTooLarge: z.boolean() })),
  rules: list(z.string()).exactOptional(),
  rulesChanged: list(z.string()).exactOptional(),
  skills: list(z.string()).exactOptional(),
  facts: list(z.string()).exactOptional(),
});

const planStep = z.strictObject({ content: z.string(), status: z.enum(["pending", "in_progress", "completed"]) });

const toolContent = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("text"), text: z.string() }),
  z.strictObject({
    type: z.literal("diff"),
    path: z.string(),
    oldText: z.string().nullable(),
    newText: z.string(),
  }),
  z.strictObject({ type: z.literal("image"), mimeType: z.string(), data: z.string() }),
  z.strictObject({ type: z.literal("plan"), steps: list(planStep) }),
]);

const toolCallView = z.strictObject({
  title: z.string(),
  kind: z.enum(["read", "edit", "delete", "move", "search", "execute", "think", "fetch", "other"]),
  locations: list(z.strictObject({ path: z.string(), line: z.number().exactOptional() })),
  content: list(toolContent),
  permission: z.strictObject({ key: z.string(), label: z.string() }).nullable(),
});

const messageId = z.string();
const callId = z.string();

const event = exactly<KeptEvent>()(
  z.discriminatedUnion("type", [
    z.strictObject({
      type: z.literal("run_started"),
      sessionId: uuid,
      turnId: uuid,
      parentTurnId: uuid.nullable(),
    }),
    z.strictObject({ type: z.literal("warning"), warning: exportedWarningSchema }),
    z.strictObject({ type: z.literal("context"), context: gatheredContext }),
    z.strictObject({ type: z.literal("step_started"), step: wholeFromOne }),
    z.strictObject({ type: z.literal("reasoning_started"), messageId }),
    z.strictObject({ type: z.literal("reasoning_delta"), messageId, delta: z.string() }),
    z.strictObject({ type: z.literal("reasoning_ended"), messageId }),
    z.strictObject({ type: z.literal("text_started"), messageId }),
    z.strictObject({ type: z.literal("text_delta"), messageId, delta: z.string() }),
    z.strictObject({ type: z.literal("text_ended"), messageId }),
    z.strictObject({ type: z.literal("tool_call_started"), callId, name: z.string() }),
    z.strictObject({ type: z.literal("tool_call_delta"), callId, delta: z.string() }),
    z.strictObject({ type: z.literal("tool_call_ended"), callId }),
    z.strictObject({
      type: z.literal("tool_call_view"),
      callId,
      view: toolCallView,
      asks: z.boolean().exactOptional(),
    }),
    z.strictObject({ type: z.literal("approval_answered"), callId, approved: z.boolean() }),
    z.strictObject({ type: z.literal("tool_output_delta"), callId, delta: z.string() }),
    z.strictObject({
      type: z.literal("tool_result"),
      callId,
      output: z.string(),
      isError: z.boolean(),
      content: list(toolContent).exactOptional(),
    }),
    z.strictObject({ type: z.literal("steered"), text: z.string() }),
    z.strictObject({
      type: z.literal("subagent_started"),
      subagentId: uuid,
      turnId: uuid,
      name: z.string(),
      instruction: z.string(),
    }),
    z.strictObject({
      type: z.literal("subagent_ended"),
      subagentId: uuid,
      turnId: uuid,
      name: z.string(),
      status: z.enum(["completed", "failed"]),
    }),
    z.strictObject({ type: z.literal("step_finished"), step: wholeFromOne, usage: exportedUsageSchema }),
    z.strictObject({
      type: z.literal("run_finished"),
      status: z.enum(["completed", "awaiting_tool_results"]),
      stopReason: exportedStopReasonSchema,
      usage: exportedUsageSchema,
      deferredCalls: list(exportedDeferredCallSchema),
    }),
    z.strictObject({ type: z.literal("run_failed"), failure: exportedFailureSchema, usage: exportedUsageSchema }),
    z.strictObject({
      type: z.literal("joined"),
      of: z.enum(["text_delta", "reasoning_delta", "tool_call_delta", "tool_output_delta"]),
      id: z.string(),
      text: z.string(),
      lengths: list(wholeFromZero),
    }),
  ]),
);

const response = z.strictObject({
  step: wholeFromOne,
  text: z.string().exactOptional(),
  base64: z.string().exactOptional(),
});

const run = exactly<RunBlob>()(
  z.strictObject({
    format: z.literal(1),
    turnId: uuid,
    events: list(event),
    responses: list(response),
    outputs: list(z.strictObject({ callId, text: z.string() })).exactOptional(),
  }),
);

/** The schemas by kind, which is part of a blob's key. */
export const blobSchemas = { part, opening, request, run, state };
