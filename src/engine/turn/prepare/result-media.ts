/**
 * The images and documents that came with the results of the client's tools (T9, I1). Among the parts of the turn they follow those of
 * the earlier items.
 */
import type { ToolResultItem } from "../../../domain/history.ts";
import type { PartRef } from "../../../domain/input-part.ts";
import type { ToolFeedback } from "../../../domain/tool.ts";
import type { AcceptedPart } from "../kept/accepted-part.ts";
import type { AcceptedRequest } from "./accepted-request.ts";
import { earlierMedia, mediaAmong } from "./earlier.ts";
import { readParts, type InputReading } from "./input-parts.ts";

/** The answers to the calls, and the parts that came with them. */
export interface AcceptedResults {
  toolResults: ToolFeedback<never>[];
  /** How many images and documents came with each of them. */
  resultMedia: number[];
  parts: AcceptedPart[];
}

/** Reads what came with the results. Throws what reading the parts throws. */
export async function acceptResults(given: readonly ToolFeedback[], reading: InputReading): Promise<AcceptedResults> {
  const accepted: AcceptedResults = { toolResults: [], resultMedia: [], parts: [] };
  for (const answer of given) {
    const { media = [], ...bare } = "approved" in answer ? { ...answer, media: [] } : answer;
    const parts = await readParts(media, reading);
    accepted.toolResults.push(bare);
    accepted.resultMedia.push(mediaAmong(parts));
    accepted.parts.push(...parts);
  }
  return accepted;
}

type Answered = Pick<AcceptedRequest, "toolResults" | "resultMedia" | "earlier">;

/** Returns how many images and documents of the turn are in other items than its message. */
export function mediaElsewhere({ earlier, resultMedia }: Pick<Answered, "resultMedia" | "earlier">): number {
  return resultMedia.reduce((sum, count) => sum + count, earlierMedia(earlier));
}

/** Returns the answers with their images and documents. `media` are all those of the turn. */
export function keptResults(
  { toolResults, resultMedia, earlier }: Answered,
  media: readonly PartRef[],
): ToolFeedback<PartRef>[] {
  let at = earlierMedia(earlier);
  return toolResults.map((answer, index) => {
    const own = media.slice(at, at + (resultMedia[index] ?? 0));
    at += own.length;
    return own.length === 0 || "approved" in answer ? answer : { ...answer, media: own };
  });
}

/** Returns the results of closed calls with what the client sent with them. */
export function withResultMedia(
  results: readonly ToolResultItem[],
  kept: readonly ToolFeedback<PartRef>[],
): ToolResultItem[] {
  const media = new Map(kept.map((answer) => [answer.callId, feedbackMedia(answer)]));
  return results.map((item) => {
    const own = media.get(item.callId) ?? [];
    return own.length === 0 ? item : { ...item, media: own };
  });
}

export function feedbackMedia(answer: ToolFeedback<PartRef>): PartRef[] {
  return "approved" in answer ? [] : (answer.media ?? []);
}
