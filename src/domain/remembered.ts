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

/** Returns the facts that calls of the tool made. The model has each of them from its own call. */
export function rememberedIn(items: readonly HistoryItem[]): Remembered[] {
  const calls = items.filter((item): item is ToolCallItem => item.type === "tool_call" && item.name === rememberTool);
  if (calls.length === 0) return [];
  const results = new Map(items.flatMap((item) => (item.type === "tool_result" ? [[item.callId, item.output]] : [])));
  return calls.flatMap(({ callId, arguments: json }) => {
    const [, id, workspaceId] = resultPattern.exec(results.get(callId) ?? "") ?? [];
    const text = factArgument(json);
    if (id === undefined || workspaceId === undefined || text === null) return [];
    return [{ callId, id, workspaceId, hash: factHash(plainFact(text)) }];
  });
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
