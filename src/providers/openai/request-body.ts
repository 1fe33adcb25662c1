/**
 * A model call as the body of `POST /responses` (E1–E5). Pure. Stable things stand first and the input last,
 * so that two requests of one session share a long front: the store keeps that front once (K3), and the
 * provider's prompt cache lives off it (E6).
 *
 * History goes by value, never as an `item_reference`: a reference dies with the provider's memory, and then
 * the history with it (C3).
 */
import type {
  EasyInputMessage,
  FunctionTool,
  ResponseCreateParamsStreaming,
  ResponseInputContent,
  ResponseInputItem,
  ResponseInputText,
  ResponseReasoningItem,
} from "openai/resources/responses/responses";
import { z } from "zod";
import type { ModelSettings } from "../../domain/context.ts";
import type { AssistantItem, HistoryItem, ReasoningItem } from "../../domain/history.ts";
import { modelFamily } from "../../domain/models.ts";
import type { ToolDefinition } from "../../domain/tool.ts";
import { isImage, mediaOf, type LoadedMedia } from "../call-media.ts";
import { withoutDanglingReasoning, type ReasoningRole } from "../dangling-reasoning.ts";
import type { ModelCall } from "../provider.ts";

/** The wire refuses less. */
const outputTokensMin = 16;

export interface ResponsesBody {
  body: ResponseCreateParamsStreaming;
  /** Reasoning items that were left out: only another provider or model can read them (C5), or nothing follows them. */
  droppedReasoning: number;
}

/** `providerName` is the name under which this provider's own reasoning is kept in the history. */
export function responsesBody(call: ModelCall, providerName: string): ResponsesBody {
  const readable = call.items.map((item) => inputItem(item, call, providerName)).filter((item) => item !== null);
  const input = withoutDanglingReasoning(readable, roleOf);
  const body: ResponseCreateParamsStreaming = {
    model: call.model,
    store: call.store,
    stream: true,
    // What is not stored can only be read again if its ciphertext comes back to us.
    ...(!call.store && { include: ["reasoning.encrypted_content"] }),
    ...settings(call.settings),
    ...(call.tools.length > 0 && { tools: call.tools.map(functionTool), parallel_tool_calls: true }),
    ...toolChoice(call),
    ...(call.previousResponseId !== null && { previous_response_id: call.previousResponseId }),
    input: call.prompt === null ? input : [systemMessage(call.prompt), ...input],
  };
  return { body, droppedReasoning: call.items.length - input.length };
}

/** "Item of type 'reasoning' was provided without its required following item" is how the server refuses the others. */
function roleOf(item: ResponseInputItem): ReasoningRole {
  if (item.type === "reasoning") return "reasoning";
  const isOutcome = item.type === "function_call" || ("role" in item && item.role === "assistant");
  return isOutcome ? "outcome" : "other";
}

function settings(given: ModelSettings): Partial<ResponseCreateParamsStreaming> {
  const { temperature, maxOutputTokens, reasoningEffort } = given;
  return {
    ...(temperature !== undefined && { temperature }),
    ...(maxOutputTokens !== undefined && { max_output_tokens: Math.max(outputTokensMin, maxOutputTokens) }),
    ...(reasoningEffort !== undefined && { reasoning: { effort: reasoningEffort } }),
  };
}

/** `strict` is always said: without it the server would guess. */
function functionTool({ name, description, parameters, strict }: ToolDefinition): FunctionTool {
  return {
    type: "function",
    name,
    ...(description !== undefined && { description }),
    parameters,
    strict: strict ?? false,
  };
}

/** A forced tool is always said, even where it is not in the list: the provider's refusal beats silence (E4). */
function toolChoice(call: ModelCall): Pick<ResponseCreateParamsStreaming, "tool_choice"> {
  if (call.toolChoice !== null) return { tool_choice: { type: "function", name: call.toolChoice } };
  if (call.allowedTools === null || call.tools.length === 0) return {};
  const allowed = call.tools.filter((tool) => call.allowedTools?.includes(tool.name));
  if (allowed.length === 0) return { tool_choice: "none" };
  return {
    tool_choice: {
      type: "allowed_tools",
      mode: "auto",
      tools: allowed.map((tool) => ({ type: "function", name: tool.name })),
    },
  };
}

function systemMessage(prompt: string): ResponseInputItem.Message {
  return { role: "system", content: [{ type: "input_text", text: prompt }] };
}

/** Null for what this provider or model cannot read. */
function inputItem(item: HistoryItem, call: ModelCall, providerName: string): ResponseInputItem | null {
  switch (item.type) {
    case "user":
      return { role: "user", content: [...item.parts.map(inputText), ...mediaOf(item, call).map(inputMedia)] };
    case "assistant":
      return assistantMessage(item);
    case "reasoning":
      return reasoningItem(item, call.model, providerName);
    case "tool_call":
      return { type: "function_call", call_id: item.callId, name: item.name, arguments: item.arguments };
    case "tool_result":
      return { type: "function_call_output", call_id: item.callId, output: item.output };
  }
}

function inputText(text: string): ResponseInputText {
  return { type: "input_text", text };
}

function inputMedia(media: LoadedMedia): ResponseInputContent {
  if (isImage(media)) return { type: "input_image", detail: "auto", image_url: media.dataUrl };
  return { type: "input_file", filename: media.name, file_data: media.dataUrl };
}

/**
 * The content is a string: an `output_text` part is for items that carry the id of a stored message, and an
 * id that we made up, or that its provider has forgotten, has no place in a request.
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

/** Without its ciphertext an item is only a reference by id, so it is left out too. */
function reasoningItem(item: ReasoningItem, model: string, providerName: string): ResponseReasoningItem | null {
  if (item.provider !== providerName || modelFamily(item.model) !== modelFamily(model)) return null;
  const own = readableReasoning.safeParse(item.opaque);
  return own.success ? { type: "reasoning", ...own.data } : null;
}
