/** What whoever runs tools does alike with a call and its result: the engine, and a chat for the tools that it brings (V5). */
import { limits } from "../domain/limits.ts";
import type { ToolCallView } from "../domain/tool.ts";
import { isRecord } from "../system/guards.ts";
import type { Tool, ToolResult } from "./tool.ts";
import { ToolFault } from "./tool-fault.ts";

/** Null: the model wrote something else than a JSON object. */
export function parseArguments(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text === "" ? "{}" : text);
    return isRecord(value) ? value : null;
  } catch {
    // The model wrote something else than JSON; it is told so.
    return null;
  }
}

/** What is known of a call before it runs. */
export interface LookedAt {
  view: ToolCallView;
  /** What the call would come to at once, whatever a person said; null: it may do something. */
  refusal: ToolResult | null;
}

/** Every call that runs is shown: by its name where the tool has nothing better. Never rejects. */
export async function lookAt(tool: Tool, args: Record<string, unknown>): Promise<LookedAt> {
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
    // Else it says what a call is about, and a call may be about nothing that can be said; running it tells.
    return { view: byName, refusal: error instanceof ToolFault ? failed(error.message) : null };
  }
}

export function failed(reason: string): ToolResult {
  return { output: `failed: ${reason}`, isError: true };
}

/**
 * What the model gets of an output. The beginning and the end say most of what a long one has to say; `keep` keeps the
 * whole, and says where it is to be had: null, nowhere.
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
