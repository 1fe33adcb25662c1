/** Events of a running turn and ways to follow them, for tests of the live log and of wake-ups. */
import { isTerminal, type SequencedEvent, type TurnEvent } from "../src/domain/events.ts";
import { noUsage } from "../src/domain/usage.ts";
import type { EventLog } from "../src/live/event-log.ts";

export function textDelta(text: string): TurnEvent {
  return { type: "text_delta", messageId: "message", delta: text };
}

/** The last event of a turn that completed. */
export const runFinished: TurnEvent = {
  type: "run_finished",
  status: "completed",
  stopReason: "stop",
  usage: noUsage,
  deferredCalls: [],
};

/** Returns the events as a log without gaps returns them: numbered from 1. */
export function numbered(events: readonly TurnEvent[]): SequencedEvent[] {
  return events.map((event, index) => ({ seq: index + 1, event }));
}

/** Reads the turn from its first event and waits for more. Resolves with all events when the turn has ended. */
export async function followToEnd(log: EventLog, turnId: string): Promise<SequencedEvent[]> {
  const events: SequencedEvent[] = [];
  for (;;) {
    events.push(...((await log.read(turnId, events.length)) ?? []));
    const last = events.at(-1);
    if (last !== undefined && isTerminal(last.event)) return events;
    await log.wait(turnId, events.length, new AbortController().signal);
  }
}
