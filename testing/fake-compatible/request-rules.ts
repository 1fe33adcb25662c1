/**
 * What a compatible server accepts, by the strictest of them: contents are strings (many templates take
 * nothing else), choices of tools are words (LM Studio), roles alternate (the templates of Mistral and Gemma), and
 * the arguments of earlier calls are objects (vLLM and Ollama parse them).
 */
import { byType, dataUrl, decimal, flag, integer, listOf, object, oneOf, record, text } from "../fake-openai/check.ts";
import { anything, type Check, isObject, nullable } from "../fake-server/check.ts";
import { webImages } from "../media-rules.ts";
import { Refusal } from "../fake-openai/refusal.ts";

export interface ChatToolCall {
  id: string;
  type: "function";
  function: { name: string; arguments: string };
}

/** Parts are used only with an image. A text alone is a string. */
export type ChatPart = { type: "text"; text: string } | { type: "image_url"; image_url: { url: string } };

export type ChatMessage =
  | { role: "system"; content: string }
  | { role: "user"; content: string | ChatPart[] }
  | {
      role: "assistant";
      content: string | null;
      tool_calls?: ChatToolCall[];
      reasoning_content?: string;
      reasoning?: string;
    }
  | { role: "tool"; tool_call_id: string; content: string };

interface ChatTool {
  type: "function";
  function: { name: string; description?: string; parameters: Record<string, unknown>; strict?: boolean };
}

/** The body in the dialect that all servers share. */
export interface ChatBody {
  model: string;
  messages: ChatMessage[];
  stream?: boolean;
  stream_options?: { include_usage?: boolean };
  temperature?: number;
  top_p?: number;
  max_tokens?: number;
  seed?: number;
  stop?: string[];
  reasoning_effort?: string;
  tools?: ChatTool[];
  tool_choice?: string;
}

const called = object<ChatToolCall>(
  { id: text, type: oneOf("function"), function: object({ name: text, arguments: text }, ["name", "arguments"]) },
  ["id", "type", "function"],
);

type MessageOf<Role> = Extract<ChatMessage, { role: Role }>;

const systemMessage = object<MessageOf<"system">>({ role: text, content: text }, ["role", "content"]);
const partForm = byType({
  text: object<Extract<ChatPart, { type: "text" }>>({ type: text, text }, ["text"]),
  image_url: object<Extract<ChatPart, { type: "image_url" }>>(
    { type: text, image_url: object<{ url: string }>({ url: dataUrl(webImages) }, ["url"]) },
    ["image_url"],
  ),
});
const asked: Check = (value, at) => {
  const content = isObject(value) ? value["content"] : undefined;
  const hasImage = Array.isArray(content) && content.some((one) => isObject(one) && one["type"] === "image_url");
  const parts = hasImage ? listOf(partForm) : text;
  object<MessageOf<"user">>({ role: text, content: parts }, ["role", "content"])(value, at);
};
const messageByRole: Record<string, Check> = {
  system: systemMessage,
  user: asked,
  assistant: object<MessageOf<"assistant">>(
    { role: text, content: nullable(text), tool_calls: listOf(called), reasoning_content: text, reasoning: text },
    ["role", "content"],
  ),
  tool: object<MessageOf<"tool">>({ role: text, tool_call_id: text, content: text }, [
    "role",
    "tool_call_id",
    "content",
  ]),
};

const message: Check = (value, at) => {
  record(value, at);
  const role = isObject(value) ? value["role"] : undefined;
  oneOf(...Object.keys(messageByRole))(role, `${at}.role`);
  messageByRole[String(role)]?.(value, at);
};

const tool = object<ChatTool>(
  {
    type: oneOf("function"),
    function: object<ChatTool["function"]>({ name: text, description: text, parameters: record, strict: flag }, [
      "name",
      "parameters",
    ]),
  },
  ["type", "function"],
);

const chatBody = object<ChatBody>(
  {
    model: text,
    messages: listOf(message),
    stream: flag,
    stream_options: object({ include_usage: flag }, []),
    temperature: decimal({ min: 0, max: 2 }),
    top_p: decimal({ min: 0, max: 1 }),
    max_tokens: integer({ min: 1 }),
    seed: integer({ min: 0 }),
    stop: anything,
    reasoning_effort: oneOf("none", "low", "medium", "high"),
    tools: listOf(tool),
    tool_choice: oneOf("none", "auto", "required"),
  },
  ["model", "messages"],
);

/** Throws a Refusal unless every server accepts the body. */
export function checkChatBody(value: unknown): asserts value is ChatBody {
  chatBody(value, "");
  const { messages, tools, tool_choice: choice } = value as ChatBody;
  if (tools?.length === 0) throw new Refusal("'tools' must not be an empty array.", { param: "tools" });
  if (choice !== undefined && tools === undefined) {
    throw new Refusal("When using `tool_choice`, `tools` must be set.", { param: "tool_choice" });
  }
  checkConversation(messages);
}

/** Checks that each call is answered once, in a message right after it, and that user and assistant alternate otherwise. */
function checkConversation(messages: readonly ChatMessage[]): void {
  const ids = new Set<string>();
  let open = new Set<string>();
  let last: ChatMessage["role"] | null = null;
  for (const [index, each] of messages.entries()) {
    const param = `messages[${index}]`;
    if (each.role === "tool") {
      if (!open.delete(each.tool_call_id)) {
        throw new Refusal(`No tool call with id '${each.tool_call_id}' waits for a result.`, { param });
      }
    } else {
      if (open.size > 0) throw new Refusal(`No tool output found for: ${[...open].join(", ")}.`, { param });
      checkTurn(each.role, last, param);
    }
    if (each.role === "assistant") open = checkAssistant(each, ids, param);
    last = each.role;
  }
  if (open.size > 0) throw new Refusal(`No tool output found for: ${[...open].join(", ")}.`, { param: "messages" });
  if (last !== "user" && last !== "tool")
    throw new Refusal("The last message must be one to answer.", { param: "messages" });
}

function checkTurn(role: ChatMessage["role"], last: ChatMessage["role"] | null, param: string): void {
  if (role === "system" && last !== null) throw new Refusal("System message must be at the beginning.", { param });
  if (role === last) {
    throw new Refusal("Conversation roles must alternate user/assistant/user/assistant/...", { param });
  }
}

/** Returns the ids of the message's calls. */
function checkAssistant(
  { content, tool_calls: calls = [] }: MessageOf<"assistant">,
  ids: Set<string>,
  param: string,
): Set<string> {
  if (content === null && calls.length === 0) {
    throw new Refusal("Expected 'content' or 'tool_calls' in an assistant message.", { param });
  }
  for (const { id, function: part } of calls) {
    if (ids.has(id)) throw new Refusal(`Tool call id '${id}' is used twice.`, { param });
    ids.add(id);
    if (!isObject(parsed(part.arguments))) throw new Refusal("invalid tool call arguments", { param });
  }
  return new Set(calls.map(({ id }) => id));
}

function parsed(argumentText: string): unknown {
  try {
    return JSON.parse(argumentText);
  } catch {
    return null;
  }
}
