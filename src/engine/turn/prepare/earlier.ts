/**
 * The items that a caller brings before the instruction, of a conversation that took place elsewhere. They are checked, and
 * become a part of the history as if the conversation had taken place here. So a client that sends its whole history continues it like any other (O5).
 */
import type { Mode } from "../../../domain/context.ts";
import { AptoveError } from "../../../domain/errors.ts";
import { openToolCalls, withResultsAtCalls, type HistoryItem, type ConversationItem } from "../../../domain/history.ts";
import type { PartRef } from "../../../domain/input-part.ts";
import { limits } from "../../../domain/limits.ts";
import type { AcceptedPart } from "../kept/accepted-part.ts";
import { closingResults } from "../kept/turn-state.ts";
import { checkText, instructionOf, userMessage } from "../request/envelope.ts";
import { readParts, type InputReading } from "./input-parts.ts";

/** The earlier items before the instruction, and the parts that came with them. */
export interface AcceptedEarlier {
  items: EarlierItem[];
  parts: AcceptedPart[];
}

/** An item with the number of its images and documents. They are the next ones of the parts. */
export interface EarlierItem {
  item: ConversationItem;
  media: number;
}

const unanswered = "failed: no result";

/** Checks and reads the earlier items. Throws `earlier_invalid`, and what reading the parts throws. */
export async function acceptEarlier(
  given: readonly ConversationItem[],
  reading: InputReading,
): Promise<AcceptedEarlier> {
  if (given.length > limits.earlierItemsMax) {
    throw new AptoveError(
      "earlier_invalid",
      `${given.length} items are more than the ${limits.earlierItemsMax} allowed`,
    );
  }
  checkPairs(given);
  const accepted: AcceptedEarlier = { items: [], parts: [] };
  for (const item of withResultsAtCalls(given)) {
    checkText(textOf(item));
    const parts = "media" in item && item.media !== undefined ? await readParts(item.media, reading) : [];
    accepted.parts.push(...parts);
    accepted.items.push({ item, media: mediaAmong(parts) });
  }
  return accepted;
}

/** Returns how many of the parts the model sees as images and documents. */
export function mediaAmong(parts: readonly AcceptedPart[]): number {
  return parts.filter(({ shown }) => shown.as === "media").length;
}

/** Returns how many images and documents the earlier items have. */
export function earlierMedia(earlier: readonly EarlierItem[]): number {
  return earlier.reduce((sum, item) => sum + item.media, 0);
}

/** Throws if a result has no call before it, or a call has two results: no provider takes such a history (T8). */
function checkPairs(given: readonly ConversationItem[]): void {
  const open = new Set<string>();
  given.forEach((item, index) => {
    if (item.type === "tool_call") open.add(item.callId);
    if (item.type !== "tool_result" || open.delete(item.callId)) return;
    throw new AptoveError(
      "earlier_invalid",
      `the result of "${item.callId}" has no call before it that waits for one`,
      {
        facts: { index },
      },
    );
  });
}

function textOf(item: ConversationItem): string {
  if (item.type === "tool_call") return item.arguments;
  return item.type === "tool_result" ? item.output : item.text;
}

/**
 * Returns the items of the history. `media` are all images and documents of the turn: those of these items come first. A call without a result is closed
 * before the next message of the person, or at the end (T8). `keepsOpen`: those at the end stay open.
 */
export function earlierHistory(
  { mode, earlier, keepsOpen = false }: { mode: Mode; earlier: readonly EarlierItem[]; keepsOpen?: boolean },
  media: readonly PartRef[],
): HistoryItem[] {
  const made: HistoryItem[] = [];
  let at = 0;
  for (const { item, media: count } of earlier) {
    const isMessage = item.type === "user" || item.type === "system";
    if (isMessage) made.push(...closing(made));
    const refs = media.slice(at, at + count);
    at += count;
    made.push(historyItem(mode.id, item, refs));
  }
  return keepsOpen ? made : [...made, ...closing(made)];
}

function closing(items: readonly HistoryItem[]): HistoryItem[] {
  return closingResults(openToolCalls(items), unanswered);
}

function historyItem(mode: string, item: ConversationItem, media: readonly PartRef[]): HistoryItem {
  switch (item.type) {
    case "user":
      return { ...userMessage(mode, item.text), ...(media.length > 0 && { media: [...media] }) };
    case "system":
      return { type: "user", parts: [item.text], rank: "system" };
    case "tool_result": {
      const { media: _given, ...result } = item;
      return { ...result, ...(media.length > 0 && { media: [...media] }) };
    }
    default:
      return item;
  }
}

/** Returns the first text of the person, by which a session without an instruction is named (S2). */
export function firstText(earlier: readonly EarlierItem[]): string {
  const first = earlier.find(({ item }) => item.type === "user")?.item;
  return first?.type === "user" ? first.text : "";
}

/** Returns items of a history as they were given, to be brought again with a rerun (T7). */
export function earlierAgain(items: readonly HistoryItem[]): ConversationItem[] {
  return items.flatMap((item): ConversationItem[] => {
    if (item.type === "reasoning") return [];
    if (item.type === "tool_result") {
      const { media: _media, ...result } = item;
      return [result];
    }
    if (item.type !== "user") return [item];
    return [
      item.rank === "system"
        ? { type: "system", text: item.parts.join("\n") }
        : { type: "user", text: instructionOf(item) },
    ];
  });
}
