/**
 * What `POST /v1/responses` and `POST /v1/embeddings` accept. The fields are those of OpenAI's own types: tsc
 * fails here when a type gains or loses one.
 */
import type { EmbeddingCreateParams } from "openai/resources/embeddings";
import type {
  FunctionTool,
  ResponseCreateParams,
  ResponseCreateParamsBase,
  ToolChoiceAllowed,
  ToolChoiceFunction,
} from "openai/resources/responses/responses";
import type { Reasoning } from "openai/resources/shared";
import { byType, decimal, flag, integer, listOf, object, oneOf, record, text } from "./check.ts";
import { anything, type Check, isObject, nullable, textOr } from "../fake-server/check.ts";
import { input } from "./input-rules.ts";
import { Refusal } from "./refusal.ts";

const toolName: Check = (value, at) => {
  text(value, at);
  const name = value as string;
  if (!/^[a-zA-Z0-9_-]+$/.test(name)) {
    const message = `Invalid '${at}': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.`;
    throw new Refusal(message, { param: at, code: "invalid_value" });
  }
  if (name.length > 64) {
    const message = `Invalid '${at}': string too long. Expected a string with maximum length 64, but got a string with length ${name.length} instead.`;
    throw new Refusal(message, { param: at, code: "string_above_max_length" });
  }
};

const functionTool = object<FunctionTool>(
  {
    type: text,
    name: toolName,
    description: nullable(text),
    parameters: nullable(record),
    strict: nullable(flag),
    allowed_callers: anything,
    async: flag,
    defer_loading: flag,
    output_schema: anything,
  },
  ["name", "parameters", "strict"],
);

/** Checks that the schema of a strict tool is closed. */
const strictSchema: Check = (value, at) => {
  functionTool(value, at);
  const tool = value as unknown as FunctionTool;
  if (tool.strict !== true || tool.parameters?.["additionalProperties"] === false) return;
  const message = `Invalid schema for function '${tool.name}': In context=(), 'additionalProperties' is required to be supplied and to be false.`;
  throw new Refusal(message, { param: `${at}.parameters`, code: "invalid_function_parameters" });
};

const toolChoice = textOr(
  byType({
    function: object<ToolChoiceFunction>({ type: text, name: text }, ["name"]),
    allowed_tools: object<ToolChoiceAllowed>({ type: text, mode: oneOf("auto", "required"), tools: listOf(record) }, [
      "mode",
      "tools",
    ]),
  }),
);

const reasoningSettings = object<Reasoning>(
  {
    effort: nullable(oneOf("none", "minimal", "low", "medium", "high", "xhigh", "max")),
    context: nullable(oneOf("auto", "current_turn", "all_turns")),
    generate_summary: nullable(oneOf("auto", "concise", "detailed")),
    summary: nullable(oneOf("auto", "concise", "detailed")),
    mode: text,
  },
  [],
);

const includable = oneOf(
  "file_search_call.results",
  "web_search_call.results",
  "web_search_call.action.sources",
  "message.input_image.image_url",
  "computer_call_output.output.image_url",
  "code_interpreter_call.outputs",
  "reasoning.encrypted_content",
  "message.output_text.logprobs",
);

const responsesBody = object<ResponseCreateParamsBase>(
  {
    access_programs: anything,
    background: nullable(flag),
    context_management: nullable(listOf(record)),
    conversation: anything,
    image: anything,
    include: nullable(listOf(includable)),
    input,
    instructions: nullable(text),
    max_output_tokens: nullable(integer({ min: 16 })),
    max_tool_calls: nullable(integer({ min: 1 })),
    metadata: nullable(record),
    model: text,
    moderation: anything,
    parallel_tool_calls: nullable(flag),
    previous_response_id: nullable(text),
    prompt: nullable(record),
    prompt_cache_key: nullable(text),
    prompt_cache_options: record,
    prompt_cache_retention: nullable(oneOf("in_memory", "24h")),
    reasoning: nullable(reasoningSettings),
    safety_identifier: nullable(text),
    service_tier: nullable(text),
    store: nullable(flag),
    stream: nullable(flag),
    stream_options: nullable(record),
    temperature: nullable(decimal({ min: 0, max: 2 })),
    text: record,
    tool_choice: toolChoice,
    tools: listOf(byType({ function: strictSchema })),
    top_logprobs: nullable(integer({ min: 0 })),
    top_p: nullable(decimal({ min: 0, max: 1 })),
    truncation: nullable(oneOf("auto", "disabled")),
    user: text,
  },
  ["model"],
);

/** Throws a Refusal unless the real endpoint accepts the body. */
export function checkResponsesBody(value: unknown): asserts value is ResponseCreateParams {
  responsesBody(value, "");
  const body = value as ResponseCreateParams;
  checkToolChoice(body);
  if (body.previous_response_id && body.conversation) {
    const message =
      "Mutually exclusive parameters: 'previous_response_id' and 'conversation'. Ensure you are only providing one of: 'previous_response_id' or 'conversation'.";
    throw new Refusal(message, { code: "mutually_exclusive_parameters" });
  }
}

/** Checks that a chosen tool is among the tools of the same request: the tools of earlier requests are not kept. */
function checkToolChoice({ tool_choice: choice, tools = [] }: ResponseCreateParams): void {
  if (typeof choice === "string") {
    oneOf("none", "auto", "required")(choice, "tool_choice");
    return;
  }
  if (choice === undefined) return;
  const names = new Set(tools.map((tool) => ("name" in tool ? tool.name : tool.type)));
  for (const name of chosenNames(choice)) {
    if (names.has(name)) continue;
    throw new Refusal(`Tool choice '${name}' not found in 'tools' parameter.`, { param: "tool_choice" });
  }
}

function chosenNames(choice: Exclude<ResponseCreateParams["tool_choice"], string | undefined>): string[] {
  if (choice.type === "function") return [choice.name];
  if (choice.type !== "allowed_tools") return [];
  return choice.tools.map((tool) => (isObject(tool) ? String(tool["name"]) : ""));
}

const embeddingsBody = object<EmbeddingCreateParams>(
  {
    input: textOr(listOf(text)),
    model: text,
    dimensions: integer({ min: 1 }),
    encoding_format: oneOf("float", "base64"),
    user: text,
  },
  ["input", "model"],
);

const embeddingInputsMax = 2_048;

/** Throws a Refusal unless the real endpoint accepts the body. Token lists are not supported here. */
export function checkEmbeddingsBody(
  value: unknown,
): asserts value is EmbeddingCreateParams & { input: string | string[] } {
  embeddingsBody(value, "");
  const { input: given } = value as EmbeddingCreateParams;
  const inputs = typeof given === "string" ? [given] : given;
  if (inputs.length === 0 || inputs.some((one) => one === "")) {
    throw new Refusal("Invalid 'input': input cannot be an empty string.", { param: "input" });
  }
  if (inputs.length > embeddingInputsMax) {
    const message = `Invalid 'input': array too long. Expected an array with maximum length ${embeddingInputsMax}, but got an array with length ${inputs.length} instead.`;
    throw new Refusal(message, { param: "input", code: "array_above_max_length" });
  }
}
