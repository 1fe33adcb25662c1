/** Which tools a call allows, in the cases that wires distinguish (E4, E5). */
import type { ModelCall } from "./provider.ts";

/**
 * `free`: the model may call any tool in the list, and the list may be empty. `mustCall`: it must call one of those that it may
 * call.
 */
export type AllowedToolCalls =
  | { type: "free"; mustCall: boolean }
  | { type: "none" }
  | { type: "some"; names: string[]; mustCall: boolean }
  | { type: "forced"; name: string };

/**
 * Returns the case of a call. A forced tool is always sent, even if it is not in the list: a refusal by the provider
 * is better than silence (E4).
 */
export function allowedToolCalls(call: ModelCall): AllowedToolCalls {
  const { tools, toolChoice, allowedTools } = call;
  const mustCall = call.mustCall === true;
  if (toolChoice !== null) return { type: "forced", name: toolChoice };
  if (allowedTools === null || tools.length === 0) return { type: "free", mustCall: mustCall && tools.length > 0 };
  const names = tools.map((tool) => tool.name).filter((name) => allowedTools.includes(name));
  return names.length === 0 ? { type: "none" } : { type: "some", names, mustCall };
}
