/** Which reasoning of the history goes back to a provider. */
import type { ReasoningItem } from "../domain/history.ts";
import { modelFamily } from "../domain/models.ts";

/** Checks whether this provider and a model of the same family wrote the reasoning: no other can read it (C5). */
export function isOwnReasoning(item: ReasoningItem, model: string, providerName: string): boolean {
  return item.provider === providerName && modelFamily(item.model) === modelFamily(model);
}

/** How an item relates to the reasoning before it: it is more reasoning, it is the outcome, or it is neither. */
export type ReasoningRole = "reasoning" | "outcome" | "other";

/**
 * Returns the items without reasoning that has no outcome, because its answer was cut while the model thought. Wires
 * that take a model's own reasoning back take it only in front of its outcome.
 */
export function withoutDanglingReasoning<T>(items: readonly T[], roleOf: (item: T) => ReasoningRole): T[] {
  let isFollowed = false;
  const kept = items.toReversed().filter((item) => {
    const role = roleOf(item);
    if (role !== "reasoning") isFollowed = role === "outcome";
    return role !== "reasoning" || isFollowed;
  });
  return kept.toReversed();
}
