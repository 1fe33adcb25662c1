/** The steps of a tool call that the engine shares with a chat that runs its own tools (V5). */
import { limits } from "../domain/limits.ts";
import type { ToolCallView } from "../domain/tool.ts";
import { isRecord } from "../system/guards.ts";
import type { Tool, ToolResult } from "./tool.ts";
import { ToolFault } from "./tool-fault.ts";

/** Parses the arguments of a call. Returns null if the model did not write a JSON object. */
export function parseArguments(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text === "" ? "{}" : text);
    return isRecord(value) ? value : null;
  } catch {
    // The model did not write JSON. Its result says so.
    return null;
  }
}

/** The facts about a call that are known before it runs. */
export interface ToolCallPreview {
  view: ToolCallView;
  /** The result of a call that cannot succeed, whatever a person answers. Null if the call may do something. */
  refusal: ToolResult | null;
}

/** Returns the view of a call. Its title is the tool's name if the tool has no better view. Never rejects. */
export async function previewToolCall(tool: Tool, args: Record<string, unknown>): Promise<ToolCallPreview> {
  const byName: ToolCallView = {
    title: tool.definition.name,
    kind: "other",
    locations: [],
    content: [],
    permission: null,
  };
  try {
    return { view: (await tool.view?.(args)) ?? byName, refusal: null };
  } catch (error) {
    // A view may fail where the call can still run. Then running it shows what is wrong.
    return { view: byName, refusal: error instanceof ToolFault ? failedResult(error.message) : null };
  }
}

/** Returns an error result with a reason for the model. */
export function failedResult(reason: string): ToolResult {
  return { output: `failed: ${reason}`, isError: true };
}

/**
 * Returns the part of an output that the model receives. A long output keeps its beginning and its end, which contain
 * most of the information. `keep` stores the whole output and returns a note about where to read it, or null.
 */
export function outputForModel(output: string, keep: (whole: string) => string | null): string {
  const max = limits.toolResultCharactersMax;
  const text = output.toWellFormed();
  if (text.length <= max) return text;
  const kept = keep(text);
  const where = kept === null ? "" : `; ${kept}`;
  const head = text.slice(0, (max * 3) / 4);
  const tail = text.slice(text.length - max / 4);
  return `${head}\n[… ${text.length - max} characters left out${where} …]\n${tail}`.toWellFormed();
}
