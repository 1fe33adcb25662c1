/**
 * Builds the body of `POST /chat/completions` from a model call, in the form that most servers take: contents are
 * strings, roles alternate, and Ollama, vLLM and llama.cpp either know or ignore every field. Pure. The history comes
 * before the tools, because a forced tool changes their list, and the shared beginning of two requests is stored once
 * (K3).
 */
import type {
  ChatCompletionAssistantMessageParam,
  ChatCompletionContentPart,
  ChatCompletionCreateParamsStreaming,
  ChatCompletionFunctionTool,
  ChatCompletionMessageParam,
} from "openai/resources/chat/completions";
import * as z from "zod";
import type { AnswerFormat, ModelSettings } from "../../domain/context.ts";
import type { AssistantItem, HistoryItem, ReasoningItem, ToolCallItem } from "../../domain/history.ts";
import type { ToolDefinition } from "../../domain/tool.ts";
import { loadedMediaOf, type LoadedMedia } from "../call-media.ts";
import { argumentsJson } from "../call-arguments.ts";
import { isOwnReasoning } from "../history-reasoning.ts";
import type { HttpBody } from "../http-provider.ts";
import type { ModelCall } from "../provider.ts";
import { settingNotes } from "../setting-notes.ts";
import { allowedToolCalls } from "../tool-choice.ts";

/** The fields in which servers send a model's reasoning. It goes back in the field in which it came. */
export const reasoningFields = ["reasoning_content", "reasoning"] as const;
export type ReasoningField = (typeof reasoningFields)[number];

/** What is kept with a reasoning for its own server. */
const keptReasoning = z.object({ field: z.enum(reasoningFields) });

/** `providerName` is the name under which this provider's own reasoning is kept in the history. */
export function compatibleBody(call: ModelCall, providerName: string): HttpBody<ChatCompletionCreateParamsStreaming> {
  const isReadable = (item: ReasoningItem): boolean =>
    isOwnReasoning(item, call.model, providerName) && keptReasoning.safeParse(item.opaque).success;
  const items = call.items.filter((item) => item.type !== "reasoning" || isReadable(item));
  const prompt: ChatCompletionMessageParam[] = call.prompt === null ? [] : [{ role: "system", content: call.prompt }];
  const body: ChatCompletionCreateParamsStreaming = {
    model: call.model,
    stream: true,
    stream_options: { include_usage: true },
    ...settings(call.settings),
    messages: [...prompt, ...messages(items, call)],
    ...tools(call),
  };
  const { model, settings: given } = call;
  const replaced = given.reasoningEffort === "minimal" ? { reasoningEffort: "low" } : {};
  // These servers show the reasoning unasked, and take no length of it.
  const isOfLength = given.reasoningSummary !== "auto" && given.reasoningEffort !== "none";
  const leftOut = ["verbosity", ...(isOfLength ? (["reasoningSummary"] as const) : [])] as const;
  const adjusted = settingNotes({ model, settings: given, leftOut, replaced });
  return { body, droppedReasoning: call.items.length - items.length, adjusted };
}

/** All servers know the name `max_tokens`. Only OpenAI's own knows the effort `minimal`. */
function settings(given: ModelSettings): Partial<ChatCompletionCreateParamsStreaming> {
  const { temperature, topP, maxOutputTokens, reasoningEffort, answerFormat, stop } = given;
  return {
    ...(answerFormat !== undefined && { response_format: responseFormat(answerFormat) }),
    ...(temperature !== undefined && { temperature }),
    ...(topP !== undefined && { top_p: topP }),
    ...(stop !== undefined && { stop: [...stop] }),
    ...(maxOutputTokens !== undefined && { max_tokens: maxOutputTokens }),
    ...(reasoningEffort !== undefined && { reasoning_effort: reasoningEffort === "minimal" ? "low" : reasoningEffort }),
  };
}

function responseFormat(format: AnswerFormat): NonNullable<ChatCompletionCreateParamsStreaming["response_format"]> {
  if (format.type === "json") return { type: "json_object" };
  const { type: _type, ...schema } = format;
  return { type: "json_schema", json_schema: schema };
}

/**
 * A forced tool is the only one in the list, and `required`: LM Studio refuses a choice by name, llama.cpp ignores it,
 * and Ollama ignores every choice. The wire cannot express "only some of the tools", because `allowed_tools` is OpenAI's
 * own: the list stays as it is (E5).
 */
function tools(call: ModelCall): Partial<ChatCompletionCreateParamsStreaming> {
  const choice = allowedToolCalls(call);
  if (choice.type === "forced") {
    const forced = call.tools.filter(({ name }) => name === choice.name).map(functionTool);
    return { ...(forced.length > 0 && { tools: forced }), tool_choice: "required" };
  }
  if (call.tools.length === 0) return {};
  const { type } = choice;
  const mustCall = type !== "none" && choice.mustCall;
  return {
    tools: call.tools.map(functionTool),
    ...(call.settings.parallelToolCalls === false && { parallel_tool_calls: false }),
    ...(type === "none" && { tool_choice: "none" }),
    ...(mustCall && { tool_choice: "required" }),
  };
}

function functionTool({ name, description, parameters, strict }: ToolDefinition): ChatCompletionFunctionTool {
  return {
    type: "function",
    function: {
      name,
      ...(description !== undefined && { description }),
      parameters,
      ...(strict !== undefined && { strict }),
    },
  };
}

type AnswerItem = AssistantItem | ReasoningItem | ToolCallItem;

/**
 * Neighbours of one role become one message, because the templates of many models refuse two in a row: the texts and
 * calls of one answer, and user messages without an answer between them. The wire takes only texts as results, so their images are
 * in a user message behind the results of an answer.
 */
function messages(items: readonly HistoryItem[], call: ModelCall): ChatCompletionMessageParam[] {
  const made: ChatCompletionMessageParam[] = [];
  let answer: AnswerItem[] = [];
  let texts: string[] = [];
  let media: LoadedMedia[] = [];
  const endMessage = (): void => {
    if (answer.length > 0) made.push(assistantMessage(answer));
    if (texts.length > 0) made.push({ role: "user", content: userContent(texts.join("\n\n"), media) });
    answer = [];
    texts = [];
    media = [];
  };
  for (const item of items) {
    switch (item.type) {
      case "user":
        if (answer.length > 0) endMessage();
        texts.push(...item.parts);
        media.push(...loadedMediaOf(item, call));
        break;
      case "tool_result": {
        // The results of an answer must follow it at once.
        if (answer.length > 0 || made.at(-1)?.role !== "tool") endMessage();
        made.push({ role: "tool", tool_call_id: item.callId, content: item.output });
        const own = loadedMediaOf(item, call);
        texts.push(...own.map(({ name }) => `[${name} came with the result of ${item.callId}]`));
        media.push(...own);
        break;
      }
      default:
        if (texts.length > 0) endMessage();
        answer.push(item);
    }
  }
  endMessage();
  return made;
}

/** The content is a plain string if possible, because not every server knows parts. */
function userContent(text: string, media: readonly LoadedMedia[]): string | ChatCompletionContentPart[] {
  if (media.length === 0) return text;
  const images = media.map(({ dataUrl }) => ({ type: "image_url", image_url: { url: dataUrl } }) as const);
  return [{ type: "text", text }, ...images];
}

/** A message with calls may have no content, which is then null. A message without calls must have a text. */
function assistantMessage(items: readonly AnswerItem[]): ChatCompletionAssistantMessageParam {
  const texts = items.flatMap((item) => (item.type === "assistant" ? [item.text] : []));
  const calls = items.filter((item) => item.type === "tool_call");
  const content = texts.length === 0 && calls.length > 0 ? null : texts.join("\n\n");
  return {
    role: "assistant",
    ...reasoning(items),
    content,
    ...(calls.length > 0 && { tool_calls: calls.map(functionCall) }),
  };
}

/** The field of the first reasoning is used for all of it: one server uses one field. */
function reasoning(items: readonly AnswerItem[]): Partial<Record<ReasoningField, string>> {
  const own = items.filter((item) => item.type === "reasoning");
  const field = keptReasoning.safeParse(own[0]?.opaque).data?.field;
  return field === undefined ? {} : { [field]: own.map((item) => item.text).join("\n\n") };
}

/** Servers parse the arguments of earlier calls, and refuse the whole history if one of them is not an object. */
function functionCall({ callId, name, arguments: text }: ToolCallItem): {
  id: string;
  type: "function";
  function: { name: string; arguments: string };
} {
  return { id: callId, type: "function", function: { name, arguments: argumentsJson(text) } };
}
