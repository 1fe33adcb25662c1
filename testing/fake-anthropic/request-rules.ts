/**
 * What `POST /v1/messages` accepts. The fields are those of Anthropic's own types: tsc fails here when a type gains
 * or loses one. The fake has no tools that Anthropic runs itself, and takes images and documents only as base64.
 */
import type { BetaThinkingConfigAdaptive } from "@anthropic-ai/sdk/resources/beta/messages/messages";
import { mediaFault, webImages } from "../media-rules.ts";
import type {
  Base64ImageSource,
  Base64PDFSource,
  CacheControlEphemeral,
  DocumentBlockParam,
  ImageBlockParam,
  MessageCreateParamsBase,
  OutputConfig,
  RedactedThinkingBlockParam,
  TextBlockParam,
  ThinkingBlockParam,
  ThinkingConfigBetweenTools,
  ThinkingConfigDisabled,
  ThinkingConfigEnabled,
  Tool,
  ToolChoiceAny,
  ToolChoiceAuto,
  ToolChoiceNone,
  ToolChoiceTool,
  ToolResultBlockParam,
  ToolUseBlockParam,
  UserMessageParam,
} from "@anthropic-ai/sdk/resources/messages/messages";
import { byType, fault, flag, integer, listOf, matching, object, oneOf, record, text } from "./check.ts";
import { anything, type Check, isObject, nullable, textOr } from "../fake-server/check.ts";

/** The thinking settings with the additions of the beta. */
export type MessagesBody = Omit<MessageCreateParamsBase, "thinking" | "user_profile_id" | "workspace_id"> & {
  thinking?: ThinkingConfigBetweenTools | ThinkingConfigDisabled | ThinkingConfigEnabled | BetaThinkingConfigAdaptive;
};

const type: Check = text;
const cacheControl = nullable(
  object<CacheControlEphemeral>({ type: oneOf("ephemeral"), ttl: oneOf("5m", "1h") }, ["type"]),
);

const textBlock = object<TextBlockParam>(
  { type, text, cache_control: cacheControl, citations: nullable(listOf(anything)) },
  ["text"],
);

const blockId = matching(/^[a-zA-Z0-9_-]+$/);
const toolName = matching(/^[a-zA-Z0-9_-]{1,128}$/);

function base64Source<T extends { media_type: string; data: string; type: string }>(taken: readonly string[]): Check {
  const form = object<{ [K in keyof T]: unknown }>(
    { type: oneOf("base64"), media_type: oneOf(...taken), data: text } as { [K in keyof T]-?: Check },
    ["type", "media_type", "data"] as (keyof T & string)[],
  );
  return (value, at) => {
    form(value, at);
    const wrong = isObject(value) ? mediaFault(value["media_type"], value["data"], taken) : null;
    if (wrong !== null) throw fault(`${at}.base64.data`, wrong);
  };
}

const image = object<ImageBlockParam>(
  {
    type,
    source: base64Source<Base64ImageSource>(webImages),
    cache_control: cacheControl,
    transformations: anything,
  },
  ["source"],
);
const document = object<DocumentBlockParam>(
  {
    type,
    source: base64Source<Base64PDFSource>(["application/pdf"]),
    cache_control: cacheControl,
    citations: anything,
    context: nullable(text),
    title: nullable(text),
  },
  ["source"],
);
const resultForm = object<ToolResultBlockParam>(
  {
    type,
    tool_use_id: blockId,
    content: textOr(listOf(byType({ text: textBlock, image, document }))),
    is_error: flag,
    cache_control: cacheControl,
    toolset_name: nullable(text),
  },
  ["tool_use_id"],
);
const toolResult: Check = (value, at) => {
  resultForm(value, at);
  const { content: given, is_error: isError } = value as ToolResultBlockParam;
  const isText = !Array.isArray(given) || given.every((block) => block.type === "text");
  if (isError === true && !isText) {
    throw fault(at, "all content must be type `text` if `is_error` is true");
  }
};

const content = listOf(
  byType({
    text: textBlock,
    image,
    document,
    thinking: object<ThinkingBlockParam>({ type, thinking: text, signature: text }, ["thinking", "signature"]),
    redacted_thinking: object<RedactedThinkingBlockParam>({ type, data: text }, ["data"]),
    tool_use: object<ToolUseBlockParam>(
      {
        type,
        id: blockId,
        name: toolName,
        input: record,
        cache_control: cacheControl,
        caller: anything,
        toolset_name: nullable(text),
      },
      ["id", "name", "input"],
    ),
    tool_result: toolResult,
  }),
);

const message = object<Omit<UserMessageParam, "role"> & { role: string }>(
  { role: oneOf("user", "assistant"), content: textOr(content) },
  ["role", "content"],
);

const tool = object<Tool>(
  {
    type: nullable(oneOf("custom")),
    name: toolName,
    description: text,
    input_schema: (value, at) => {
      record(value, at);
      if (isObject(value) && value["type"] === undefined) throw fault(`${at}.type`, "Field required");
      if (isObject(value)) oneOf("object")(value["type"], `${at}.type`);
    },
    cache_control: cacheControl,
    strict: flag,
    allowed_callers: listOf(text),
    defer_loading: flag,
    eager_input_streaming: nullable(flag),
    input_examples: listOf(record),
  },
  ["name", "input_schema"],
);

const parallel = { type, disable_parallel_tool_use: flag };
const toolChoice = byType({
  auto: object<ToolChoiceAuto>(parallel, []),
  any: object<ToolChoiceAny>(parallel, []),
  tool: object<ToolChoiceTool>({ ...parallel, name: text }, ["name"]),
  none: object<ToolChoiceNone>({ type }, []),
});

const display = nullable(oneOf("summarized", "omitted"));
const thinking = byType({
  adaptive: object<BetaThinkingConfigAdaptive>(
    {
      type,
      display,
      block_binding: nullable(object({ prefix_mismatch_behavior: nullable(oneOf("error", "drop_block")) }, [])),
    },
    [],
  ),
  between_tools: object<ThinkingConfigBetweenTools>({ type }, []),
  disabled: object<ThinkingConfigDisabled>({ type }, []),
  enabled: object<ThinkingConfigEnabled>({ type, display, budget_tokens: integer({ min: 1_024 }) }, ["budget_tokens"]),
});

const outputConfig = object<OutputConfig>(
  { effort: nullable(oneOf("low", "medium", "high", "xhigh", "max")), format: nullable(record) },
  [],
);

const messagesBody = object<MessagesBody>(
  {
    cache_control: cacheControl,
    container: anything,
    diagnostics: nullable(record),
    inference_geo: nullable(text),
    max_tokens: integer({ min: 0 }),
    messages: listOf(message),
    metadata: record,
    model: text,
    output_config: outputConfig,
    service_tier: oneOf("auto", "standard_only"),
    speed: nullable(oneOf("standard", "fast")),
    stop_sequences: listOf(text),
    stream: flag,
    system: textOr(listOf(byType({ text: textBlock }))),
    thinking,
    tool_choice: toolChoice,
    tools: listOf((value, at) => tool(value, `${at}.custom`)),
  },
  ["model", "max_tokens", "messages"],
);

/** Throws a Refusal unless the real endpoint accepts the fields and their types. */
export function checkFields(value: unknown): asserts value is MessagesBody {
  messagesBody(value, "");
}
