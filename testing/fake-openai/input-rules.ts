/** Rules for the input items of the Responses API, as far as a client without hosted tools can send them. */
import type {
  EasyInputMessage,
  ResponseFunctionToolCall,
  ResponseInputFile,
  ResponseInputImage,
  ResponseInputItem,
  ResponseInputText,
  ResponseOutputMessage,
  ResponseOutputRefusal,
  ResponseOutputText,
  ResponseReasoningItem,
} from "openai/resources/responses/responses";
import { webImages } from "../media-rules.ts";
import { byType, dataUrl, listOf, object, oneOf, text } from "./check.ts";
import { anything, type Check, isObject, nullable, textOr } from "../fake-server/check.ts";

const type: Check = text;
const status = nullable(oneOf("in_progress", "completed", "incomplete"));

const inputPart = byType({
  input_text: object<ResponseInputText>({ type, text, prompt_cache_breakpoint: anything }, ["text"]),
  input_image: object<ResponseInputImage>(
    {
      type,
      detail: oneOf("low", "high", "auto", "original"),
      file_id: nullable(text),
      image_url: nullable(dataUrl(webImages)),
      prompt_cache_breakpoint: anything,
    },
    [],
  ),
  input_file: object<ResponseInputFile>(
    {
      type,
      detail: oneOf("auto", "low", "high"),
      file_data: dataUrl(["application/pdf"]),
      file_id: nullable(text),
      file_url: text,
      filename: text,
      prompt_cache_breakpoint: anything,
    },
    [],
  ),
});

const outputPart = byType({
  output_text: object<ResponseOutputText>({ type, text, annotations: listOf(anything), logprobs: anything }, ["text"]),
  refusal: object<ResponseOutputRefusal>({ type, refusal: text }, ["refusal"]),
});

const roles = ["assistant", "system", "developer", "user"] as const;

const messageFields = { type, id: text, status, role: oneOf(...roles), phase: anything };

const inputMessage = object<EasyInputMessage & ResponseOutputMessage>(
  { ...messageFields, content: textOr(listOf(inputPart)) },
  ["role", "content"],
);

const assistantMessage = object<EasyInputMessage & ResponseOutputMessage>(
  {
    ...messageFields,
    phase: nullable(oneOf("commentary", "final_answer")),
    content: textOr(listOf(outputPart)),
  },
  ["role", "content"],
);

/** Checks the parts: a message of the assistant is output, every other message is input. */
const message: Check = (value, at) => {
  const check = isObject(value) && value["role"] === "assistant" ? assistantMessage : inputMessage;
  check(value, at);
};

const functionCall = object<ResponseFunctionToolCall>(
  {
    type,
    id: text,
    call_id: text,
    name: text,
    arguments: text,
    status,
    async: anything,
    caller: anything,
    namespace: text,
  },
  ["call_id", "name", "arguments"],
);

const functionCallOutput = object<ResponseInputItem.FunctionCallOutput>(
  {
    type,
    id: nullable(text),
    call_id: text,
    output: textOr(listOf(inputPart)),
    status,
    caller: anything,
    name: nullable(text),
    namespace: nullable(text),
  },
  ["call_id", "output"],
);

const reasoning = object<ResponseReasoningItem>(
  {
    type,
    id: text,
    summary: listOf(byType({ summary_text: object({ type, text }, ["text"]) })),
    content: listOf(byType({ reasoning_text: object({ type, text }, ["text"]) })),
    encrypted_content: nullable(text),
    status,
  },
  ["id", "summary"],
);

const itemReference = object<ResponseInputItem.ItemReference>({ type, id: text }, ["id"]);

const typedItem = byType({
  message,
  function_call: functionCall,
  function_call_output: functionCallOutput,
  reasoning,
  item_reference: itemReference,
});

/** A message may leave its `type` out. */
const inputItem: Check = (value, at) => {
  const isShortMessage = isObject(value) && value["type"] === undefined && value["role"] !== undefined;
  (isShortMessage ? message : typedItem)(value, at);
};

export const input: Check = textOr(listOf(inputItem));
