/**
 * A model call as the body of `POST /chat/completions`, in the form that the most servers take: contents are
 * strings, roles alternate, and every field is one that Ollama, vLLM and llama.cpp know or skip. Pure. History
 * stands before the tools, because a forced tool changes their list, and what two requests share is stored once (K3).
 */
import type {
  ChatCompletionAssistantMessageParam,
  ChatCompletionContentPart,
  ChatCompletionCreateParamsStreaming,
  ChatCompletionFunctionTool,
  ChatCompletionMessageParam,
} from "openai/resources/chat/completions";
import { z } from "zod";
import type { ModelSettings } from "../../domain/context.ts";
import type { AssistantItem, HistoryItem, ReasoningItem, ToolCallItem } from "../../domain/history.ts";
import { modelFamily } from "../../domain/models.ts";
import type { ToolDefinition } from "../../domain/tool.ts";
import { mediaOf, type LoadedMedia } from "../call-media.ts";
import { argumentsJson } from "../call-arguments.ts";
import type { ModelCall } from "../provider.ts";

/** The fields in which servers give a model's reasoning; it goes back in the one that it came in. */
export const reasoningFields = ["reasoning_content", "reasoning"] as const;
export type ReasoningField = (typeof reasoningFields)[number];

/** What is kept of a reasoning for its own server. */
const ownReasoning = z.object({ field: z.enum(reasoningFields) });

export interface ChatBody {
  body: ChatCompletionCreateParamsStreaming;
  /** Reasoning items that were left out, because another provider or model wrote them (C5). */
  droppedReasoning: number;
}

/** `providerName` is the name under which this provider's own reasoning is kept in the history. */
export function chatBody(call: ModelCall, providerName: string): ChatBody {
  const isOwn = (item: ReasoningItem): boolean =>
    item.provider === providerName &&
    modelFamily(item.model) === modelFamily(call.model) &&
    ownReasoning.safeParse(item.opaque).success;
  const items = call.items.filter((item) => item.type !== "reasoning" || isOwn(item));
  const prompt: ChatCompletionMessageParam[] = call.prompt === null ? [] : [{ role: "system", content: call.prompt }];
  const body: ChatCompletionCreateParamsStreaming = {
    model: call.model,
    stream: true,
    stream_options: { include_usage: true },
    ...settings(call.settings),
    messages: [...prompt, ...messages(items, call)],
    ...tools(call),
  };
  return { body, droppedReasoning: call.items.length - items.length };
}

/** `max_tokens` is the name that all servers know. None but OpenAI's own knows the effort `minimal`. */
function settings(given: ModelSettings): Partial<ChatCompletionCreateParamsStreaming> {
  const { temperature, maxOutputTokens, reasoningEffort } = given;
  return {
    ...(temperature !== undefined && { temperature }),
    ...(maxOutputTokens !== undefined && { max_tokens: maxOutputTokens }),
    ...(reasoningEffort !== undefined && { reasoning_effort: reasoningEffort === "minimal" ? "low" : reasoningEffort }),
  };
}

/**
 * A forced tool is the only one in the list, and `required`: a choice by name is refused by LM Studio and skipped by
 * llama.cpp, and Ollama skips every choice. Where it is not in the list, the provider's refusal beats silence (E4).
 * For some of the tools there is no word, `allowed_tools` being OpenAI's own: the list stays as it is (E5).
 */
function tools({ tools: all, toolChoice, allowedTools }: ModelCall): Partial<ChatCompletionCreateParamsStreaming> {
  if (toolChoice !== null) {
    const forced = all.filter(({ name }) => name === toolChoice).map(functionTool);
    return { ...(forced.length > 0 && { tools: forced }), tool_choice: "required" };
  }
  if (all.length === 0) return {};
  const isAnyAllowed = all.some(({ name }) => allowedTools?.includes(name) ?? true);
  return { tools: all.map(functionTool), ...(!isAnyAllowed && { tool_choice: "none" }) };
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

type SpokenItem = AssistantItem | ReasoningItem | ToolCallItem;

/**
 * Neighbours of one role are one message, since the templates of many models refuse two in a row: what a model
 * said and called in one answer, and user messages without an answer between them.
 */
function messages(items: readonly HistoryItem[], call: ModelCall): ChatCompletionMessageParam[] {
  const made: ChatCompletionMessageParam[] = [];
  let spoken: SpokenItem[] = [];
  let asked: string[] = [];
  let shown: LoadedMedia[] = [];
  const endMessage = (): void => {
    if (spoken.length > 0) made.push(assistantMessage(spoken));
    if (asked.length > 0) made.push({ role: "user", content: userContent(asked.join("\n\n"), shown) });
    spoken = [];
    asked = [];
    shown = [];
  };
  for (const item of items) {
    switch (item.type) {
      case "user":
        if (spoken.length > 0) endMessage();
        asked.push(...item.parts);
        shown.push(...mediaOf(item, call));
        break;
      case "tool_result":
        endMessage();
        made.push({ role: "tool", tool_call_id: item.callId, content: item.output });
        break;
      default:
        if (asked.length > 0) endMessage();
        spoken.push(item);
    }
  }
  endMessage();
  return made;
}

/** A plain string wherever it can be: not every server knows parts. */
function userContent(text: string, media: readonly LoadedMedia[]): string | ChatCompletionContentPart[] {
  if (media.length === 0) return text;
  const images = media.map(({ dataUrl }) => ({ type: "image_url", image_url: { url: dataUrl } }) as const);
  return [{ type: "text", text }, ...images];
}

/** With calls there may be no content, and it is then null; without them it must be a text. */
function assistantMessage(items: readonly SpokenItem[]): ChatCompletionAssistantMessageParam {
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

/** The first field counts: one server uses one. */
function reasoning(items: readonly SpokenItem[]): Partial<Record<ReasoningField, string>> {
  const own = items.filter((item) => item.type === "reasoning");
  const field = ownReasoning.safeParse(own[0]?.opaque).data?.field;
  return field === undefined ? {} : { [field]: own.map((item) => item.text).join("\n\n") };
}

/** Servers parse the arguments of earlier calls, and refuse the whole history for one that is no object. */
function functionCall({ callId, name, arguments: text }: ToolCallItem): {
  id: string;
  type: "function";
  function: { name: string; arguments: string };
} {
  return { id: callId, type: "function", function: { name, arguments: argumentsJson(text) } };
}
