/**
 * History as messages of this API, which is strict about their order: neighbours of one role are one message, the
 * results of calls stand first in the message right after the calls, no text is blank, and thinking is never the
 * last thing that an assistant said.
 */
import type {
  Base64ImageSource,
  ContentBlockParam,
  MessageParam,
  ToolResultBlockParam,
  ToolUseBlockParam,
} from "@anthropic-ai/sdk/resources/messages/messages";
import { z } from "zod";
import type { HistoryItem, ReasoningItem, ToolCallItem, ToolResultItem } from "../../domain/history.ts";
import { sha256 } from "../../domain/ids.ts";
import { modelFamily } from "../../domain/models.ts";
import { argumentsObject } from "../call-arguments.ts";
import { isImage, mediaOf, type LoadedMedia } from "../call-media.ts";
import { withoutDanglingReasoning, type ReasoningRole } from "../dangling-reasoning.ts";
import type { ModelCall } from "../provider.ts";
import { isBlank, sendableText } from "./sendable-text.ts";

export interface HistoryMessages {
  messages: MessageParam[];
  droppedReasoning: number;
  /** Names of the tools that were called, each once, in the order of their first call. */
  calledNames: string[];
}

interface Piece {
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

function piecesOf(item: HistoryItem, call: ModelCall): Piece[] {
  switch (item.type) {
    case "user":
      return [
        ...item.parts.flatMap((text) => textPieces("user", text)),
        ...mediaOf(item, call).map((media): Piece => ({ role: "user", block: mediaBlock(media) })),
      ];
    case "assistant":
      return textPieces("assistant", item.text);
    case "reasoning":
      return [{ role: "assistant", block: ownThinking.parse(item.opaque) }];
    case "tool_call":
      return [{ role: "assistant", block: toolUse(item) }];
    case "tool_result":
      return [{ role: "user", block: toolResult(item) }];
  }
}

function textPieces(role: Piece["role"], text: string): Piece[] {
  return isBlank(text) ? [] : [{ role, block: { type: "text", text: sendableText(text) } }];
}

function mediaBlock(media: LoadedMedia): ContentBlockParam {
  const { name, mediaType, base64: data } = media;
  if (!isImage(media)) {
    const source = { type: "base64", media_type: "application/pdf", data } as const;
    return { type: "document", source, title: sendableText(name) };
  }
  // What this provider takes is in one table with the types that its wire has words for.
  const media_type = mediaType as Base64ImageSource["media_type"];
  return { type: "image", source: { type: "base64", media_type, data } };
}

/** Loose: a block goes back with every field that it came with. */
const ownThinking = z.discriminatedUnion("type", [
  z.looseObject({ type: z.literal("thinking"), thinking: z.string(), signature: z.string().min(1) }),
  z.looseObject({ type: z.literal("redacted_thinking"), data: z.string().min(1) }),
]);

function isReadable(item: ReasoningItem, model: string, providerName: string): boolean {
  if (item.provider !== providerName || modelFamily(item.model) !== modelFamily(model)) return false;
  return ownThinking.safeParse(item.opaque).success;
}

function toolUse({ callId, name, arguments: written }: ToolCallItem): ToolUseBlockParam {
  return { type: "tool_use", id: wireId(callId), name: wireName(name), input: argumentsObject(written) };
}

function toolResult({ callId, output, isError }: ToolResultItem): ToolResultBlockParam {
  return {
    type: "tool_result",
    tool_use_id: wireId(callId),
    ...(!isBlank(output) && { content: sendableText(output) }),
    ...(isError === true && { is_error: true }),
  };
}

/** An id of another provider may have characters that are refused here. The same id is always mapped the same. */
function wireId(callId: string): string {
  return /^[a-zA-Z0-9_-]+$/.test(callId) ? callId : `call_${sha256(callId).slice(0, 24)}`;
}

/** A model may have called what is no tool at all; the name says so as far as it can. */
function wireName(name: string): string {
  return name.replaceAll(/[^a-zA-Z0-9_-]/g, "_").slice(0, 128) || "_";
}

function roleOf({ role, block }: Piece): ReasoningRole {
  if (block.type === "thinking" || block.type === "redacted_thinking") return "reasoning";
  return role === "assistant" ? "outcome" : "other";
}

function messagesOf(pieces: readonly Piece[]): MessageParam[] {
  const messages: { role: Piece["role"]; content: ContentBlockParam[] }[] = [];
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

/** What the model shall go on from may not end with white space. */
function endingAsAllowed(messages: MessageParam[]): MessageParam[] {
  const last = messages.at(-1);
  if (last?.role !== "assistant" || !Array.isArray(last.content)) return messages;
  const block = last.content.at(-1);
  if (block?.type !== "text") return messages;
  const content = [...last.content.slice(0, -1), { ...block, text: block.text.trimEnd() }];
  return [...messages.slice(0, -1), { role: "assistant", content }];
}
