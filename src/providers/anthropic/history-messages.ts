/**
 * Builds the messages of this API from the history. Their order is strict: neighbours of one role are one message, the
 * results of calls come first in the message right after the calls, no text is blank, and no assistant message ends
 * with thinking.
 */
import type {
  Base64ImageSource,
  ContentBlockParam,
  DocumentBlockParam,
  ImageBlockParam,
  MessageParam,
  ToolResultBlockParam,
  ToolUseBlockParam,
} from "@anthropic-ai/sdk/resources/messages/messages";
import * as z from "zod";
import type { HistoryItem, ReasoningItem, ToolCallItem, ToolResultItem } from "../../domain/history.ts";
import { sha256 } from "../../domain/ids.ts";
import { argumentsObject } from "../call-arguments.ts";
import { isImage, loadedMediaOf, type LoadedMedia } from "../call-media.ts";
import { isOwnReasoning, withoutDanglingReasoning, type ReasoningRole } from "../history-reasoning.ts";
import type { ModelCall } from "../provider.ts";
import { isBlank } from "./blank-text.ts";

export interface HistoryMessages {
  messages: MessageParam[];
  droppedReasoning: number;
  /** The names of the tools that were called, each once, in the order of their first call. */
  calledNames: string[];
}

/** One block of content, before neighbours of one role are joined. */
interface MessagePiece {
  role: "user" | "assistant";
  block: ContentBlockParam;
}

/** Reasoning goes back only to the provider and model family that wrote it, and only with its signature (C5). */
export function historyMessages(call: ModelCall, providerName: string): HistoryMessages {
  const { items, model } = call;
  const readable = items.filter((item) => item.type !== "reasoning" || isReadable(item, model, providerName));
  const all = readable.flatMap((item) => piecesOf(item, call));
  const pieces = withoutDanglingReasoning(all, roleOf);
  const names = pieces.flatMap(({ block }) => (block.type === "tool_use" ? [block.name] : []));
  return {
    messages: endingAsAllowed(messagesOf(pieces)),
    droppedReasoning: items.length - readable.length + (all.length - pieces.length),
    calledNames: [...new Set(names)],
  };
}

function piecesOf(item: HistoryItem, call: ModelCall): MessagePiece[] {
  switch (item.type) {
    case "user":
      return [
        ...item.parts.flatMap((text) => textPieces("user", text)),
        ...loadedMediaOf(item, call).map((media): MessagePiece => ({ role: "user", block: mediaBlock(media) })),
      ];
    case "assistant":
      return textPieces("assistant", item.text);
    case "reasoning":
      return [{ role: "assistant", block: ownThinking.parse(item.opaque) }];
    case "tool_call":
      return [{ role: "assistant", block: toolUse(item) }];
    case "tool_result":
      return [{ role: "user", block: toolResult(item, call) }];
  }
}

function textPieces(role: MessagePiece["role"], text: string): MessagePiece[] {
  return isBlank(text) ? [] : [{ role, block: { type: "text", text: text } }];
}

function mediaBlock(media: LoadedMedia): ImageBlockParam | DocumentBlockParam {
  const { name, mediaType, base64: data } = media;
  if (!isImage(media)) {
    const source = { type: "base64", media_type: "application/pdf", data } as const;
    return { type: "document", source, title: name };
  }
  // The table of media types that this provider takes holds only types that its wire has names for.
  const media_type = mediaType as Base64ImageSource["media_type"];
  return { type: "image", source: { type: "base64", media_type, data } };
}

/** The schemas are loose: a block goes back with every field that it came with. */
const ownThinking = z.discriminatedUnion("type", [
  z.looseObject({ type: z.literal("thinking"), thinking: z.string(), signature: z.string().min(1) }),
  z.looseObject({ type: z.literal("redacted_thinking"), data: z.string().min(1) }),
]);

function isReadable(item: ReasoningItem, model: string, providerName: string): boolean {
  return isOwnReasoning(item, model, providerName) && ownThinking.safeParse(item.opaque).success;
}

function toolUse({ callId, name, arguments: written }: ToolCallItem): ToolUseBlockParam {
  return { type: "tool_use", id: wireId(callId), name: wireName(name), input: argumentsObject(written) };
}

function toolResult(item: ToolResultItem, call: ModelCall): ToolResultBlockParam {
  const { callId, output, isError } = item;
  const media = loadedMediaOf(item, call).map(mediaBlock);
  const text = isBlank(output) ? [] : [{ type: "text" as const, text: output }];
  return {
    type: "tool_result",
    tool_use_id: wireId(callId),
    ...(text.length > 0 && { content: output }),
    ...(media.length > 0 && { content: [...text, ...media] }),
    // The wire takes only texts as an error.
    ...(isError === true && media.length === 0 && { is_error: true }),
  };
}

/** Ids of other providers may have characters that this API refuses. The same id always gives the same result. */
function wireId(callId: string): string {
  return /^[a-zA-Z0-9_-]+$/.test(callId) ? callId : `call_${sha256(callId).slice(0, 24)}`;
}

/** A model may have called a tool that does not exist. Characters that the API refuses become `_`. */
function wireName(name: string): string {
  return name.replaceAll(/[^a-zA-Z0-9_-]/g, "_").slice(0, 128) || "_";
}

function roleOf({ role, block }: MessagePiece): ReasoningRole {
  if (block.type === "thinking" || block.type === "redacted_thinking") return "reasoning";
  return role === "assistant" ? "outcome" : "other";
}

function messagesOf(pieces: readonly MessagePiece[]): MessageParam[] {
  const messages: { role: MessagePiece["role"]; content: ContentBlockParam[] }[] = [];
  for (const { role, block } of pieces) {
    const last = messages.at(-1);
    if (last?.role === role) last.content.push(block);
    else messages.push({ role, content: [block] });
  }
  return messages.map(({ role, content }) => ({ role, content: role === "user" ? resultsFirst(content) : content }));
}

function resultsFirst(blocks: readonly ContentBlockParam[]): ContentBlockParam[] {
  const { results = [], others = [] } = Object.groupBy(blocks, ({ type }) =>
    type === "tool_result" ? "results" : "others",
  );
  return [...results, ...others];
}

/** If the model must continue an assistant message, that message must not end with white space. */
function endingAsAllowed(messages: MessageParam[]): MessageParam[] {
  const last = messages.at(-1);
  if (last?.role !== "assistant" || !Array.isArray(last.content)) return messages;
  const block = last.content.at(-1);
  if (block?.type !== "text") return messages;
  const content = [...last.content.slice(0, -1), { ...block, text: block.text.trimEnd() }];
  return [...messages.slice(0, -1), { role: "assistant", content }];
}
