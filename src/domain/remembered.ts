/** The calls of the tool `remember` in a history (M3): what they made, and how they look when it is forgotten. */
import { factHash, plainFact, type SentFact } from "./fact.ts";
import type { HistoryItem, ToolCallItem } from "./history.ts";

export const rememberTool = "remember";

/** Returns the result that the model receives. `rememberedIn` reads it. */
export function rememberedResult({ id, workspaceId }: Pick<SentFact, "id" | "workspaceId">): string {
  return `Remembered as the fact ${id} of the workspace ${workspaceId}.`;
}

const resultPattern = /^Remembered as the fact (\S+) of the workspace (\S+)\.$/;

/** A fact that a call made. */
export interface Remembered extends SentFact {
  callId: string;
}

/** Returns true if the items have a call of the tool, or a result of one. */
export function concernsRemember(items: readonly HistoryItem[]): boolean {
  return items.some((item) => (item.type === "tool_result" ? resultPattern.test(item.output) : isRememberCall(item)));
}

function isRememberCall(item: HistoryItem): item is ToolCallItem {
  return item.type === "tool_call" && item.name === rememberTool;
}

/**
 * Returns the facts that calls of the tool made, by the entry that has the call. The model has each of them from its own call. The
 * result may be in a later entry, because a call waits for a person between two turns.
 */
export function rememberedIn<E extends { items: readonly HistoryItem[] }>(entries: readonly E[]): Map<E, Remembered[]> {
  const made = new Map<E, Remembered[]>();
  const calls = new Map<string, { entry: E; call: ToolCallItem }>();
  for (const entry of entries) {
    for (const item of entry.items) {
      if (isRememberCall(item)) calls.set(item.callId, { entry, call: item });
      if (item.type !== "tool_result") continue;
      const found = calls.get(item.callId);
      const fact = found === undefined ? null : factOf(found.call, item.output);
      if (found !== undefined && fact !== null) made.set(found.entry, [...(made.get(found.entry) ?? []), fact]);
    }
  }
  return made;
}

function factOf({ callId, arguments: json }: ToolCallItem, output: string): Remembered | null {
  const [, id, workspaceId] = resultPattern.exec(output) ?? [];
  // What was taken out of the history is not in it.
  const text = json === forgottenArguments ? null : factArgument(json);
  if (id === undefined || workspaceId === undefined || text === null) return null;
  return { callId, id, workspaceId, hash: factHash(plainFact(text)) };
}

function factArgument(json: string): string | null {
  try {
    const values: unknown = JSON.parse(json);
    const fact = typeof values === "object" && values !== null && "fact" in values ? values.fact : null;
    return typeof fact === "string" ? fact : null;
  } catch {
    return null;
  }
}

/** The arguments of a call whose fact was forgotten. */
export const forgottenArguments: string = JSON.stringify({ fact: "[forgotten]" });
