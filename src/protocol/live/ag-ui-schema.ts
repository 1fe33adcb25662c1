/**
 * The schema of the events that a stream of a turn sends, for the OpenAPI document (V1, H2). `toAgUi` makes them. The schema is built when
 * the document is, since no request is checked with it.
 */
import * as z from "zod";
import { failureSchema, idSchema, stopReasonSchema, warningSchema } from "../values.ts";

let built: z.ZodType | null = null;

export function agUiEventSchema(): z.ZodType {
  return (built ??= z.union([...protocolEvents(), ...ownEvents()]).meta({
    id: "AgUiEvent",
    description: "An AG-UI 1.0 event. A reader skips types and names that it does not know.",
  }));
}

const messageId = z.string();
const toolCallId = z.string();
const stepName = z.string().describe("`step-` and the number of the model call, from 1.");

/** Returns an event of AG-UI. */
function named<Shape extends z.ZodRawShape>(type: string, shape: Shape) {
  return z.object({ type: z.literal(type), ...shape });
}

function protocolEvents() {
  const usage = tokenUsage();
  return [
    named("RUN_STARTED", {
      threadId: idSchema.describe("The session."),
      runId: idSchema.describe("The turn."),
      parentRunId: idSchema.optional().describe("The parent of the turn. Absent: it is a root."),
      protocolVersion: z.string(),
    }),
    named("STEP_STARTED", { stepName }),
    named("STEP_FINISHED", { stepName, metadata: z.object({ usage }) }),
    named("REASONING_MESSAGE_START", { messageId, role: z.literal("reasoning") }),
    named("REASONING_MESSAGE_CONTENT", { messageId, delta: z.string() }),
    named("REASONING_MESSAGE_END", { messageId }),
    named("TEXT_MESSAGE_START", { messageId, role: z.literal("assistant") }),
    named("TEXT_MESSAGE_CONTENT", { messageId, delta: z.string() }),
    named("TEXT_MESSAGE_END", { messageId }),
    named("TOOL_CALL_START", { toolCallId, toolCallName: z.string() }),
    named("TOOL_CALL_ARGS", { toolCallId, delta: z.string().describe("A piece of the JSON text of the arguments.") }),
    named("TOOL_CALL_END", { toolCallId }),
    named("TOOL_CALL_RESULT", {
      messageId,
      toolCallId,
      content: z.string().describe("The output as the model receives it."),
      role: z.literal("tool"),
      metadata: z.object({ isError: z.boolean(), content: z.array(toolContent()).optional() }),
    }),
    named("RUN_FINISHED", {
      threadId: idSchema,
      runId: idSchema,
      outcome: outcome(),
      usage: z.array(usage),
      metadata: z.object({ stopReason: stopReasonSchema }),
    }).describe("The last event of a turn that did not fail."),
    named("RUN_ERROR", {
      message: failureSchema.shape.message,
      code: failureSchema.shape.code,
      usage: z.array(usage),
      metadata: failureSchema.pick({ retryable: true, retryAfterSeconds: true, fix: true }),
    }).describe("The last event of a turn that failed."),
  ];
}

function tokenUsage() {
  const count = z.int().min(0).optional();
  return z
    .object({
      inputTokens: count,
      outputTokens: count,
      totalTokens: count,
      reasoningTokens: count,
      cachedInputTokens: count,
    })
    .describe("A count that is not known is absent.");
}

function outcome() {
  return z.discriminatedUnion("type", [
    z.object({
      type: z.literal("success"),
      pendingToolCallIds: z.array(z.string()).optional().describe("The calls that wait for the client's own tools."),
    }),
    z.object({ type: z.literal("cancelled") }).describe("A person or a limit stopped the turn."),
    z
      .object({
        type: z.literal("interrupt"),
        interrupts: z.array(
          z.object({
            id: z.string(),
            reason: z.string(),
            message: z.string(),
            toolCallId,
            responseSchema: z.record(z.string(), z.unknown()).describe("The JSON Schema of an answer."),
            metadata: z.object({ name: z.string(), arguments: z.string() }),
          }),
        ),
      })
      .describe("The turn waits for approvals."),
  ]);
}

/** The events that AG-UI does not define. */
function ownEvents() {
  const custom = (name: string, value: z.ZodType) => named("CUSTOM", { name: z.literal(name), value });
  const callId = z.string();
  const subagent = { subagentId: idSchema, turnId: idSchema, name: z.string() };
  return [
    custom("aptove.context", gatheredContext()),
    custom("aptove.steered", z.object({ text: z.string() })),
    custom("aptove.tool_call_view", z.object({ callId, view: toolCallView(), asks: z.literal(true).optional() })),
    custom("aptove.approval_answered", z.object({ callId, approved: z.boolean() })),
    custom("aptove.tool_output", z.object({ callId, delta: z.string() })),
    custom("aptove.subagent_started", z.object({ ...subagent, instruction: z.string() })),
    custom("aptove.subagent_ended", z.object({ ...subagent, status: z.enum(["completed", "failed"]) })),
    custom("aptove.warning", warningSchema),
  ];
}

function gatheredContext() {
  const names = z.array(z.string()).optional();
  return z.object({
    history: z.enum(["none", "chain", "replay"]),
    historyTurns: z.int(),
    chunks: z.array(
      z.object({ id: z.string(), path: z.string(), startLine: z.int(), endLine: z.int(), wasSent: z.boolean() }),
    ),
    files: z.array(z.object({ path: z.string(), wasSent: z.boolean(), wasTooLarge: z.boolean() })),
    rules: names.describe("The files with rules that a conversation begins with."),
    rulesChanged: names.describe("The files with rules that changed, are new, or no longer count."),
    skills: names,
    facts: names.describe("The ids of the facts of the memory that the message brings."),
  });
}

function toolCallView() {
  return z.object({
    title: z.string(),
    kind: z.enum(["read", "edit", "delete", "move", "search", "execute", "think", "fetch", "other"]),
    locations: z.array(z.object({ path: z.string(), line: z.int().optional() })),
    content: z.array(toolContent()),
    permission: z
      .object({ key: z.string(), label: z.string() })
      .nullable()
      .describe("What can be allowed permanently. Null: nothing."),
  });
}

function toolContent() {
  return z.discriminatedUnion("type", [
    z.object({ type: z.literal("text"), text: z.string() }),
    z.object({
      type: z.literal("diff"),
      path: z.string(),
      oldText: z.string().nullable().describe("Null: the file is new."),
      newText: z.string(),
    }),
    z.object({ type: z.literal("image"), mimeType: z.string(), data: z.string().describe("Base64.") }),
    z.object({
      type: z.literal("plan"),
      steps: z.array(z.object({ content: z.string(), status: z.enum(["pending", "in_progress", "completed"]) })),
    }),
  ]);
}
