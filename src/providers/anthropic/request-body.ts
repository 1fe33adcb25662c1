/**
 * A model call as the body of `POST /v1/messages` (E2–E6). Pure. What is stable stands first and the history last,
 * so that two requests of one session share a long front: the store keeps that front once (K3), and the provider's
 * prompt cache lives off it (E6).
 *
 * The temperature is not sent: this version of the API takes none, of no model.
 */
import type { MessageCreateParamsStreaming, Tool, ToolChoice } from "@anthropic-ai/sdk/resources/messages/messages";
import type { ToolDefinition } from "../../domain/tool.ts";
import type { ModelCall } from "../provider.ts";
import { historyMessages } from "./history-messages.ts";
import { isBlank, sendableText } from "./sendable-text.ts";
import { type ThinkingFields, thinkingFields } from "./thinking.ts";

export type MessagesBody = Omit<MessageCreateParamsStreaming, "thinking"> & ThinkingFields;

export interface BodyOptions {
  /** The name under which this provider's own reasoning is kept in the history. */
  providerName: string;
  /** Where the settings say nothing. */
  maxOutputTokens: number;
}

export interface PreparedBody {
  body: MessagesBody;
  /** Reasoning items that were left out, because only another provider or model can read them (C5). */
  droppedReasoning: number;
}

/** The default lifetime: five minutes from its last use. */
const cached = { type: "ephemeral" } as const;

export function messagesBody(call: ModelCall, options: BodyOptions): PreparedBody {
  const { messages, droppedReasoning, calledNames } = historyMessages(call, options.providerName);
  const maxTokens = Math.max(1, call.settings.maxOutputTokens ?? options.maxOutputTokens);
  const tools = call.tools.length > 0 ? call.tools.map(wireTool) : calledNames.map(formerTool);
  const body: MessagesBody = {
    model: call.model,
    stream: true,
    // Puts a mark for the prompt cache at the end of the history, wherever that is.
    cache_control: cached,
    ...(tools.length > 0 && { tools }),
    // The mark here covers the tools too, and serves other sessions with the same prompt.
    ...(!isBlank(call.prompt ?? "") && {
      system: [{ type: "text", text: sendableText(call.prompt ?? ""), cache_control: cached }],
    }),
    max_tokens: maxTokens,
    ...thinkingFields(call, maxTokens, messages),
    ...toolChoice(call, tools.length),
    messages,
  };
  return { body, droppedReasoning };
}

function wireTool({ name, description, parameters, strict }: ToolDefinition): Tool {
  return {
    name,
    ...(description !== undefined && { description }),
    input_schema: { type: "object", ...parameters },
    ...(strict === true && { strict }),
  };
}

/** A history with calls is refused without any tools, so what was called once is named; it cannot be called again. */
function formerTool(name: string): Tool {
  return { name, input_schema: { type: "object" } };
}

/**
 * A forced tool is always said, even where it is not in the list or the model takes no force: the provider's
 * refusal beats silence (E4). There is no word for "only these of them", and a shorter list would break the prefix
 * (E5): a mode that allows some tools sends all, one that allows none says `none`.
 */
function toolChoice(call: ModelCall, toolCount: number): { tool_choice?: ToolChoice } {
  if (call.toolChoice !== null) return { tool_choice: { type: "tool", name: call.toolChoice } };
  if (toolCount === 0) return {};
  const isAnyAllowed = call.tools.some(({ name }) => call.allowedTools?.includes(name) ?? true);
  return isAnyAllowed ? {} : { tool_choice: { type: "none" } };
}
