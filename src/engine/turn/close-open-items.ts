/** Completes the events of a run that was cut short. */
import type { TurnEvent } from "../../domain/events.ts";

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
      default:
        break;
    }
  }
  return [...open.values()];
}
