/** Completes the events of a run that was cut short. */
import type { TurnEvent } from "../../../domain/events.ts";
import { ignoreUnknown } from "../../../system/guards.ts";

/** Returns an end event for every message and call that the run left open. */
export function closeOpenItems(events: readonly TurnEvent[]): TurnEvent[] {
  const open = new Map<string, TurnEvent>();
  for (const event of events) {
    switch (event.type) {
      case "text_started":
        open.set(event.messageId, { type: "text_ended", messageId: event.messageId });
        break;
      case "reasoning_started":
        open.set(event.messageId, { type: "reasoning_ended", messageId: event.messageId });
        break;
      case "tool_call_started":
        open.set(event.callId, { type: "tool_call_ended", callId: event.callId });
        break;
      case "text_ended":
      case "reasoning_ended":
        open.delete(event.messageId);
        break;
      case "tool_call_ended":
        open.delete(event.callId);
        break;
      case "run_started":
      case "warning":
      case "context":
      case "step_started":
      case "reasoning_delta":
      case "text_delta":
      case "tool_call_delta":
      case "tool_call_view":
      case "approval_answered":
      case "tool_output_delta":
      case "tool_result":
      case "steered":
      case "subagent_started":
      case "subagent_ended":
      case "step_finished":
      case "run_finished":
      case "run_failed":
        break;
      default:
        ignoreUnknown(event);
    }
  }
  return [...open.values()];
}
