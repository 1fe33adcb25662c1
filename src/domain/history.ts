/**
 * What the model has seen and said, in a form that belongs to no provider. A provider's driver turns
 * items into its own wire format; nothing here is ever rewritten once it has been sent (E6).
 */

import type { PartRef } from "./input-part.ts";

/** A message of the person, or of the program on the person's behalf. Each part is one text block on the wire (E2). */
export interface UserItem {
  type: "user";
  parts: string[];
  /** Images and documents, behind the texts (I1). A provider that cannot take one gets a text in its place (C5). */
  media?: PartRef[];
}

export interface AssistantItem {
  type: "assistant";
  text: string;
  /** The provider's own label of the message (`commentary`, `final_answer`); sent back unchanged. */
  phase?: string;
}

/** A model's reasoning. `opaque` is the provider's own item, given back only to the same provider and model family (C5). */
export interface ReasoningItem {
  type: "reasoning";
  provider: string;
  model: string;
  text: string;
  opaque?: unknown;
}

export interface ToolCallItem {
  type: "tool_call";
  callId: string;
  name: string;
  /** JSON text exactly as the model wrote it; it may be invalid. */
  arguments: string;
}

export interface ToolResultItem {
  type: "tool_result";
  callId: string;
  output: string;
  isError?: boolean;
}

export type HistoryItem = UserItem | AssistantItem | ReasoningItem | ToolCallItem | ToolResultItem;

/** Calls in `items` that have no result yet, in order (T8). */
export function openToolCalls(items: readonly HistoryItem[]): ToolCallItem[] {
  const answered = new Set(items.flatMap((item) => (item.type === "tool_result" ? [item.callId] : [])));
  return items.filter((item): item is ToolCallItem => item.type === "tool_call" && !answered.has(item.callId));
}

/** The text of all assistant messages, in order, one blank line between two of them. */
export function answerText(items: readonly HistoryItem[]): string {
  return items.flatMap((item) => (item.type === "assistant" && item.text !== "" ? [item.text] : [])).join("\n\n");
}
