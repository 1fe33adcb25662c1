/**
 * Reasoning with nothing behind it: of an answer that was cut while the model thought. Wires that take a model's own
 * reasoning back take it only in front of what it led to.
 */

/** What an item is to the reasoning before it: more of it, what it led to, or neither. */
export type ReasoningRole = "reasoning" | "outcome" | "other";

/** The same items without reasoning that led to nothing. */
export function withoutDanglingReasoning<T>(items: readonly T[], roleOf: (item: T) => ReasoningRole): T[] {
  let isFollowed = false;
  const kept = items.toReversed().filter((item) => {
    const role = roleOf(item);
    if (role !== "reasoning") isFollowed = role === "outcome";
    return role !== "reasoning" || isFollowed;
  });
  return kept.toReversed();
}
