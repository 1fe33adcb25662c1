/**
 * Builds the body of `POST /v1/messages` from a model call (E2–E6). Pure. Stable fields come first and the history
 * last, so that two requests of one session share a long beginning: the store keeps it once (K3), and the provider's
 * prompt cache depends on it (E6).
 *
 * The temperature is not sent: this version of the API refuses it for every model.
 */
import type { MessageCreateParamsStreaming, Tool, ToolChoice } from "@anthropic-ai/sdk/resources/messages/messages";
import type { ToolDefinition } from "../../domain/tool.ts";
import { withoutTopChoices } from "../call-arguments.ts";
import type { HttpBody } from "../http-provider.ts";
import type { ModelCall } from "../provider.ts";
import { settingNotes } from "../setting-notes.ts";
import { allowedToolCalls } from "../tool-choice.ts";
import { historyMessages } from "./history-messages.ts";
import { isBlank } from "./blank-text.ts";
import { type ThinkingFields, thinkingFields } from "./thinking.ts";

type AnthropicBody = Omit<MessageCreateParamsStreaming, "thinking"> & ThinkingFields;

export interface AnthropicBodyOptions {
  /** The name under which this provider's own reasoning is kept in the history. */
  providerName: string;
  /** The limit in tokens for calls whose settings have none. */
  maxOutputTokens: number;
}

/** A mark for the prompt cache with the default lifetime: five minutes from its last use. */
const cached = { type: "ephemeral" } as const;

export function anthropicBody(call: ModelCall, options: AnthropicBodyOptions): HttpBody<AnthropicBody> {
  const { messages, droppedReasoning, calledNames } = historyMessages(call, options.providerName);
  const maxTokens = Math.max(1, call.settings.maxOutputTokens ?? options.maxOutputTokens);
  const stops = stopTexts(call.settings);
  const tools = call.tools.length > 0 ? call.tools.map(wireTool) : calledNames.map(formerTool);
  const body: AnthropicBody = {
    model: call.model,
    stream: true,
    // This mark is at the end of the history, wherever that is.
    cache_control: cached,
    ...(tools.length > 0 && { tools }),
    // This mark covers the tools too, and serves other sessions with the same prompt.
    ...(!isBlank(call.prompt ?? "") && {
      system: [{ type: "text", text: call.prompt ?? "", cache_control: cached }],
    }),
    max_tokens: maxTokens,
    ...(stops.length > 0 && { stop_sequences: stops }),
    ...withFormat(thinkingFields(call, maxTokens, messages), call),
    ...toolChoice(call, tools.length),
    messages,
  };
  return { body, droppedReasoning, adjusted: adjustedSettings(call, body), outputTokensMax: maxTokens };
}

/** Returns a text for each setting that the model does not take as it is (G3). */
function adjustedSettings({ model, settings }: ModelCall, body: AnthropicBody): string[] {
  const { reasoningEffort, reasoningSummary } = settings;
  const { effort } = body.output_config ?? {};
  const isLow = effort === "low" && reasoningEffort !== "low";
  const thinks = body.thinking !== undefined && body.thinking.type !== "disabled";
  const hasEffort = reasoningEffort === "none" || effort !== undefined || body.thinking?.type === "enabled";
  // Thinking is always requested as a summary. Its length cannot be chosen.
  const isOfLength = reasoningSummary !== undefined && reasoningSummary !== "auto";
  return settingNotes({
    model,
    settings,
    leftOut: [
      "temperature",
      "topP",
      "verbosity",
      ...(stopTexts(settings).length > 0 ? [] : (["stop"] as const)),
      ...(takesFormat(settings) ? [] : (["answerFormat"] as const)),
      ...(hasEffort ? [] : (["reasoningEffort"] as const)),
      ...(isOfLength && !thinks && reasoningEffort !== "none" ? (["reasoningSummary"] as const) : []),
    ],
    replaced: {
      ...(isLow && { reasoningEffort: "low" }),
      ...(isOfLength && thinks && { reasoningSummary: "auto" }),
    },
  });
}

/** The wire refuses texts that are blank. */
function stopTexts({ stop = [] }: ModelCall["settings"]): string[] {
  return stop.filter((text) => !isBlank(text));
}

/** The wire has no JSON without a schema. */
function takesFormat({ answerFormat }: ModelCall["settings"]): boolean {
  return answerFormat?.type !== "json";
}

function withFormat(fields: Partial<AnthropicBody>, { settings }: ModelCall): Partial<AnthropicBody> {
  const { answerFormat } = settings;
  if (answerFormat?.type !== "schema") return fields;
  const format = { type: "json_schema" as const, schema: answerFormat.schema };
  return { ...fields, output_config: { ...fields.output_config, format } };
}

function wireTool({ name, description, parameters, strict }: ToolDefinition): Tool {
  return {
    name,
    ...(description !== undefined && { description }),
    input_schema: { type: "object", ...withoutTopChoices(parameters) },
    ...(strict === true && { strict }),
  };
}

/**
 * Declares a tool that was called before, for a call without tools: the API refuses a history with calls if no tool is
 * declared. The model cannot call it again.
 */
function formerTool(name: string): Tool {
  return { name, input_schema: { type: "object" } };
}

/**
 * A forced tool is sent even if the model cannot be forced (E4). The wire cannot express "only some of the tools", and
 * a shorter list would break the prefix (E5): a mode that allows some tools sends them all.
 */
function toolChoice(call: ModelCall, declaredTools: number): { tool_choice?: ToolChoice } {
  const choice = allowedToolCalls(call);
  const alone = call.settings.parallelToolCalls === false ? { disable_parallel_tool_use: true } : {};
  if (choice.type === "forced") return { tool_choice: { type: "tool", name: choice.name, ...alone } };
  if (choice.type !== "none" && choice.mustCall) return { tool_choice: { type: "any", ...alone } };
  const hasOnlyFormerTools = call.tools.length === 0 && declaredTools > 0;
  if (choice.type === "none" || hasOnlyFormerTools) return { tool_choice: { type: "none" } };
  return call.tools.length > 0 && "disable_parallel_tool_use" in alone
    ? { tool_choice: { type: "auto", ...alone } }
    : {};
}
