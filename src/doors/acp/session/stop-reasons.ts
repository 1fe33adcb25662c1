/** The stop reason of ACP for the end of a turn (P1). */
import type { StopReason } from "@agentclientprotocol/sdk";
import type { StopReason as TurnStopReason } from "../../../domain/events.ts";
import type { FollowedEnd } from "./turn-feed.ts";

const stopReasons: Record<TurnStopReason, StopReason> = {
  stop: "end_turn",
  length: "max_tokens",
  tool_calls: "end_turn",
  content_filter: "refusal",
  interrupted: "cancelled",
  step_limit: "max_turn_requests",
};

/** Returns the stop reason, or null for a failure that is an error in ACP. */
export function stopReasonOf(end: FollowedEnd): StopReason | null {
  if (end.type === "run_finished") return stopReasons[end.stopReason];
  if (end.failure.code === "interrupted") return "cancelled";
  return end.failure.code === "provider_refused_content" ? "refusal" : null;
}
