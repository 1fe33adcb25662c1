/**
 * What the model received and wrote, in a form that belongs to no provider. The driver of a provider translates items
 * into its own wire format. An item is never rewritten after it was sent (E6).
 */

import type { InputPart, PartRef } from "./input-part.ts";

/** A message of the person, or of the program on behalf of the person. Each part is one text block on the wire (E2). */
export interface UserItem {
  type: "user";
  parts: string[];
  /**
   * Images and documents, which follow the texts (I1). A provider that cannot accept one receives a text instead (C5).
   */
  media?: PartRef[];
  /**
   * The message has the weight of the boot prompt: a caller gave it as one of the system. A provider without such messages
   * receives it as a labelled text of the user. Absent: it is the person's.
   */
  rank?: "system";
}

export interface AssistantItem {
  type: "assistant";
  text: string;
  /** The provider's own label of the message (`commentary`, `final_answer`), which is sent back unchanged. */
  phase?: string;
}

/**
 * The reasoning of a model. `opaque` is the provider's own item, and is sent only to the same provider and model family
 * (C5).
 */
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
  /** The arguments as JSON text, exactly as the model wrote them. The text may be invalid JSON. */
  arguments: string;
}

export interface ToolResultItem {
  type: "tool_result";
  callId: string;
  output: string;
  isError?: boolean;
  /** Images and documents that a client's tool returned, which follow the text (I1). They are treated as those of a message. */
  media?: PartRef[];
}

export type HistoryItem = UserItem | AssistantItem | ReasoningItem | ToolCallItem | ToolResultItem;

/**
 * An item of a conversation that took place elsewhere, which a caller brings so that the history has it. A message of the person and
 * the result of a tool may have images and documents, which the model sees at once.
 */
export type ConversationItem =
  | { type: "user"; text: string; media?: InputPart[] }
  | { type: "system"; text: string }
  | AssistantItem
  | ToolCallItem
  | (Omit<ToolResultItem, "media"> & { media?: InputPart[] });

/** Returns the images and documents of an item. */
export function mediaOf(item: HistoryItem): PartRef[] {
  return item.type === "user" || item.type === "tool_result" ? (item.media ?? []) : [];
}

/** Returns the calls in `items` that have no result yet, in order (T8). */
export function openToolCalls(items: readonly (HistoryItem | ConversationItem)[]): ToolCallItem[] {
  const answered = new Set(items.flatMap((item) => (item.type === "tool_result" ? [item.callId] : [])));
  return items.filter((item): item is ToolCallItem => item.type === "tool_call" && !answered.has(item.callId));
}

/** Returns the items with each result before the next message: no provider takes a message between a call and its result (T8). */
export function withResultsAtCalls(items: readonly ConversationItem[]): ConversationItem[] {
  const open = new Set<string>();
  const moved = new Set<ConversationItem>();
  return items.flatMap((item, index): ConversationItem[] => {
    if (item.type === "tool_call") open.add(item.callId);
    if (item.type === "tool_result") open.delete(item.callId);
    if (item.type !== "user" && item.type !== "system") return moved.has(item) ? [] : [item];
    const results = [...open].flatMap((callId) => {
      const next = items.slice(index + 1).find((later) => "callId" in later && later.callId === callId);
      return next?.type === "tool_result" ? [next] : [];
    });
    open.clear();
    for (const result of results) moved.add(result);
    return [...results, item];
  });
}

/** Returns the text of all assistant messages, in order, with one blank line between two messages. */
export function answerText(items: readonly HistoryItem[]): string {
  return items.flatMap((item) => (item.type === "assistant" && item.text !== "" ? [item.text] : [])).join("\n\n");
}
