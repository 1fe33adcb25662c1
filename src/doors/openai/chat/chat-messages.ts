/** Reads the messages of a chat completion. A client sends all of them each time (O5). */
import { openToolCalls, type ConversationItem } from "../../../domain/history.ts";
import type { InputPart } from "../../../domain/input-part.ts";
import type { ChatContent, ChatMessage, ChatPart } from "../schemas/chat.ts";
import { partOf } from "../read-input.ts";
import { badParameter, unsupported } from "../wire-error.ts";

export interface ReadMessages {
  /** The texts of the system before the first other message, or before the last one without any: they count for this call alone, as the client sends them again. */
  instructions: string;
  items: ConversationItem[];
}

export function readMessages(messages: readonly ChatMessage[]): ReadMessages {
  const first = messages.findIndex(({ role }) => role !== "system" && role !== "developer");
  // Prompts for titles and summaries may have no other message. The model then answers the last one.
  const leading = messages.slice(0, first === -1 ? messages.length - 1 : first);
  const rest = messages.slice(leading.length);
  return {
    instructions: leading.map(({ content }) => textOf(content ?? "")).join("\n\n"),
    items: rest.flatMap((message, index) => itemsOf(message, `messages[${leading.length + index}]`)),
  };
}

/** Refuses calls without a result, as OpenAI does (T8). */
export function refuseUnanswered(items: readonly ConversationItem[]): void {
  const ids = openToolCalls(items).map(({ callId }) => callId);
  if (ids.length === 0) return;
  const rule =
    "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'.";
  const found = `The following tool_call_ids did not have response messages: ${ids.join(", ")}`;
  throw badParameter("messages", `${rule} ${found}`, null);
}

function itemsOf(message: ChatMessage, at: string): ConversationItem[] {
  switch (message.role) {
    case "system":
    case "developer":
      return [{ type: "system", text: textOf(message.content) }];
    case "user": {
      const media = mediaOf(message.content, `${at}.content`);
      return [{ type: "user", text: textOf(message.content), ...(media.length > 0 && { media }) }];
    }
    case "tool":
      return [{ type: "tool_result", callId: message.tool_call_id, output: textOf(message.content) }];
    case "assistant": {
      const text = textOf(message.content ?? message.refusal ?? "");
      const calls = (message.tool_calls ?? []).map(({ id, function: called }): ConversationItem => {
        return { type: "tool_call", callId: id, name: called.name, arguments: called.arguments };
      });
      return [...(text === "" ? [] : [{ type: "assistant", text } as const]), ...calls];
    }
  }
}

function textOf(content: ChatContent): string {
  if (typeof content === "string") return content;
  return content
    .flatMap((part) => (part.type === "text" ? [part.text] : part.type === "refusal" ? [part.refusal] : []))
    .join("\n\n");
}

function mediaOf(content: ChatContent, at: string): InputPart[] {
  if (typeof content === "string") return [];
  return content.flatMap((part, index) => mediaPart(part, `${at}[${index}]`));
}

function mediaPart(part: ChatPart, at: string): InputPart[] {
  if (part.type === "image_url") return [partOf(part.image_url.url, `${at}.image_url.url`)];
  if (part.type !== "file") return [];
  const { file_data: data, filename, file_id: id } = part.file;
  if (typeof id === "string") throw unsupported(`${at}.file.file_id`, "Uploaded files are not supported.");
  if (typeof data !== "string") {
    const param = `${at}.file.file_data`;
    throw badParameter(param, `Missing required parameter: '${param}'.`, "missing_required_parameter");
  }
  const name = typeof filename === "string" ? { name: filename } : {};
  return [{ ...partOf(data, `${at}.file.file_data`), ...name } as InputPart];
}
