/** Asks the user whether the next call of the model may pass its budget, after a turn that waits for that (F11). */
import type { ToolFeedback } from "../../../domain/tool.ts";
import { parsedArguments } from "../../../domain/tool-arguments.ts";
import { askClientForPermission, type PermissionPorts } from "./permission.ts";
import type { FollowedEnd } from "./turn-feed.ts";

/** Returns the answer for the turn that goes on. Null: the turn does not wait for a budget, or the client has not answered. */
export async function askToPassBudget(
  ports: PermissionPorts,
  end: FollowedEnd | null,
  signal: AbortSignal,
): Promise<ToolFeedback | null> {
  const calls = end?.type === "run_finished" ? end.deferredCalls : [];
  const call = calls.find(({ budgetIds }) => budgetIds !== undefined);
  if (call === undefined) return null;
  const { callId } = call;
  const rawInput = parsedArguments(call.arguments);
  const content = [{ type: "text" as const, text: String(rawInput["reason"]) }];
  const title = "Let the next call of the model pass its budget";
  const view = { title, kind: "other" as const, locations: [], content, permission: null };
  const answer = await askClientForPermission(ports, { callId, view, rawInput }, signal);
  return answer === null ? null : { callId, ...answer };
}
