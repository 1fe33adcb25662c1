/** Which tools a call allows, in the cases that wires distinguish (E4, E5). */
import type { ModelCall } from "./provider.ts";

/** `free`: the model may call any tool in the list, and the list may be empty. */
export type AllowedToolCalls =
  | { type: "free" }
  | { type: "none" }
  | { type: "some"; names: string[] }
  | { type: "forced"; name: string };

/**
 * Returns the case of a call. A forced tool is always sent, even if it is not in the list: a refusal by the provider
 * is better than silence (E4).
 */
export function allowedToolCalls({ tools, toolChoice, allowedTools }: ModelCall): AllowedToolCalls {
  if (toolChoice !== null) return { type: "forced", name: toolChoice };
  if (allowedTools === null || tools.length === 0) return { type: "free" };
  const names = tools.map((tool) => tool.name).filter((name) => allowedTools.includes(name));
  return names.length === 0 ? { type: "none" } : { type: "some", names };
}
