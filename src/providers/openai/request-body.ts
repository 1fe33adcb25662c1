/**
 * Builds the body of `POST /responses` from a model call (E1–E5). Pure. Stable fields come first and the input last, so
 * that two requests of one session share a long beginning: the store keeps it once (K3), and the provider's prompt
 * cache depends on it (E6).
 *
 * History is sent by value, never as an `item_reference`: a reference is lost when the provider forgets the response,
 * and the history would be lost with it (C3).
 */
import type {
  EasyInputMessage,
  FunctionTool,
  ResponseFunctionCallOutputItem,
  ResponseFormatTextConfig,
  ResponseCreateParamsStreaming,
  ResponseInputFile,
  ResponseInputImage,
  ResponseInputItem,
  ResponseInputText,
  ResponseReasoningItem,
} from "openai/resources/responses/responses";
import * as z from "zod";
import type { AssistantItem, HistoryItem, ReasoningItem, ToolResultItem } from "../../domain/history.ts";
import type { AnswerFormat, ModelSettings } from "../../domain/context.ts";
import type { ToolDefinition } from "../../domain/tool.ts";
import { withoutTopChoices } from "../call-arguments.ts";
import { isImage, loadedMediaOf, type LoadedMedia } from "../call-media.ts";
import { isOwnReasoning, withoutDanglingReasoning, type ReasoningRole } from "../history-reasoning.ts";
import type { HttpBody } from "../http-provider.ts";
import type { ModelCall } from "../provider.ts";
import { allowedToolCalls } from "../tool-choice.ts";
import { adjustedSettings, effortFor, outputTokensMin, summaryFor, untaken } from "./model-settings.ts";
import type { SettingName } from "../setting-notes.ts";

/** `providerName` is the name under which this provider's own reasoning is kept in the history. */
export function openaiBody(call: ModelCall, providerName: string): HttpBody<ResponseCreateParamsStreaming> {
  const readable = call.items.map((item) => inputItem(item, call, providerName)).filter((item) => item !== null);
  const input = withoutDanglingReasoning(readable, roleOf);
  const body: ResponseCreateParamsStreaming = {
    model: call.model,
    store: call.store,
    stream: true,
    // The padding is random, and every response is kept byte for byte: it would be most of what is stored (K6).
    stream_options: { include_obfuscation: false },
    // Without its ciphertext, reasoning can not be sent again once the provider has forgotten it (C3).
    include: ["reasoning.encrypted_content"],
    ...settings(call),
    ...(call.tools.length > 0 && {
      tools: call.tools.map(functionTool),
      parallel_tool_calls: call.settings.parallelToolCalls ?? true,
    }),
    ...toolChoice(call),
    ...(call.previousResponseId !== null && { previous_response_id: call.previousResponseId }),
    input: call.prompt === null ? input : [systemMessage(call.prompt), ...input],
  };
  return {
    body,
    droppedReasoning: call.items.length - input.length,
    adjusted: adjustedSettings(call),
    ...(typeof body.max_output_tokens === "number" && { outputTokensMax: body.max_output_tokens }),
  };
}

/**
 * The server refuses reasoning that is not followed by its outcome: "Item of type 'reasoning' was provided without its
 * required following item".
 */
function roleOf(item: ResponseInputItem): ReasoningRole {
  if (item.type === "reasoning") return "reasoning";
  const isOutcome = item.type === "function_call" || ("role" in item && item.role === "assistant");
  return isOutcome ? "outcome" : "other";
}

function settings(call: ModelCall): Partial<ResponseCreateParamsStreaming> {
  const { temperature, topP, maxOutputTokens, verbosity, answerFormat, cacheKey } = call.settings;
  const leftOut = untaken(call);
  const sends = (name: SettingName): boolean => !leftOut.includes(name);
  return {
    ...(temperature !== undefined && sends("temperature") && { temperature }),
    ...(topP !== undefined && sends("topP") && { top_p: topP }),
    ...(maxOutputTokens !== undefined && { max_output_tokens: Math.max(outputTokensMin, maxOutputTokens) }),
    ...reasoningSettings(call, sends),
    ...(cacheKey !== undefined && { prompt_cache_key: cacheKey }),
    ...textSettings(sends("verbosity") ? verbosity : undefined, answerFormat),
  };
}

function reasoningSettings(
  { model, settings: { reasoningEffort: effort, reasoningSummary: summary } }: ModelCall,
  sends: (name: SettingName) => boolean,
): Pick<ResponseCreateParamsStreaming, "reasoning"> {
  const reasoning = {
    ...(effort !== undefined && sends("reasoningEffort") && { effort: effortFor(model, effort) }),
    ...(summary !== undefined && sends("reasoningSummary") && { summary: summaryFor(model, summary) }),
  };
  return Object.keys(reasoning).length === 0 ? {} : { reasoning };
}

function textSettings(
  verbosity: ModelSettings["verbosity"],
  format: AnswerFormat | undefined,
): Pick<ResponseCreateParamsStreaming, "text"> {
  if (verbosity === undefined && format === undefined) return {};
  const wire = format === undefined ? {} : { format: wireFormat(format) };
  return { text: { ...(verbosity !== undefined && { verbosity }), ...wire } };
}

function wireFormat(format: AnswerFormat): ResponseFormatTextConfig {
  if (format.type === "json") return { type: "json_object" };
  return { ...format, type: "json_schema", strict: format.strict ?? false };
}

/** `strict` is always sent: without it the server would guess. */
function functionTool({ name, description, parameters, strict }: ToolDefinition): FunctionTool {
  return {
    type: "function",
    name,
    ...(description !== undefined && { description }),
    parameters: withoutTopChoices(parameters),
    strict: strict ?? false,
  };
}

function toolChoice(call: ModelCall): Pick<ResponseCreateParamsStreaming, "tool_choice"> {
  const choice = allowedToolCalls(call);
  switch (choice.type) {
    case "free":
      return choice.mustCall ? { tool_choice: "required" } : {};
    case "none":
      return { tool_choice: "none" };
    case "forced":
      return { tool_choice: { type: "function", name: choice.name } };
    case "some": {
      const tools = choice.names.map((name) => ({ type: "function", name }));
      return { tool_choice: { type: "allowed_tools", mode: choice.mustCall ? "required" : "auto", tools } };
    }
  }
}

function systemMessage(prompt: string): ResponseInputItem.Message {
  return { role: "system", content: [{ type: "input_text", text: prompt }] };
}

/** Returns null for an item that this provider or model cannot read. */
function inputItem(item: HistoryItem, call: ModelCall, providerName: string): ResponseInputItem | null {
  switch (item.type) {
    case "user":
      return {
        role: item.rank ?? "user",
        content: [...item.parts.map(inputText), ...loadedMediaOf(item, call).map(inputMedia)],
      };
    case "assistant":
      return assistantMessage(item);
    case "reasoning":
      return reasoningItem(item, call.model, providerName);
    case "tool_call":
      return { type: "function_call", call_id: item.callId, name: item.name, arguments: item.arguments };
    case "tool_result":
      return { type: "function_call_output", call_id: item.callId, output: resultOutput(item, call) };
  }
}

/** An output without images and files is a text. */
function resultOutput(item: ToolResultItem, call: ModelCall): string | ResponseFunctionCallOutputItem[] {
  const media = loadedMediaOf(item, call).map(inputMedia);
  if (media.length === 0) return item.output;
  return [...(item.output === "" ? [] : [inputText(item.output)]), ...media];
}

function inputText(text: string): ResponseInputText {
  return { type: "input_text", text };
}

function inputMedia(media: LoadedMedia): ResponseInputImage | ResponseInputFile {
  if (isImage(media)) return { type: "input_image", detail: "auto", image_url: media.dataUrl };
  return { type: "input_file", filename: media.name, file_data: media.dataUrl };
}

/**
 * The content is a string. An `output_text` part is for items that carry the id of a stored message, and a request
 * must not carry an id that we generated or that its provider has forgotten.
 */
function assistantMessage({ text, phase }: AssistantItem): EasyInputMessage {
  return { role: "assistant", content: text, ...(isPhase(phase) && { phase }) };
}

function isPhase(phase: string | undefined): phase is "commentary" | "final_answer" {
  return phase === "commentary" || phase === "final_answer";
}

const readableReasoning = z.object({
  id: z.string(),
  summary: z.array(z.object({ type: z.literal("summary_text"), text: z.string() })),
  encrypted_content: z.string().min(1),
});

/** Returns null also for an item without its ciphertext, because it would only be a reference by id. */
function reasoningItem(item: ReasoningItem, model: string, providerName: string): ResponseReasoningItem | null {
  if (!isOwnReasoning(item, model, providerName)) return null;
  const own = readableReasoning.safeParse(item.opaque);
  return own.success ? { type: "reasoning", ...own.data } : null;
}
