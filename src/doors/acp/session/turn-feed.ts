/** Sends a running turn to the client, no faster than the client reads it (R5). */
import type { SessionUpdate } from "@agentclientprotocol/sdk";
import { isTerminal, type RunFailed, type RunFinished, type SequencedEvent } from "../../../domain/events.ts";
import type { TurnUpdates } from "./turn-updates.ts";

export interface FeedTarget {
  updates: TurnUpdates;
  send(update: SessionUpdate): Promise<void>;
  /** Called before the first update of the turn, with the id of the turn that it continues from. */
  onStart(parentTurnId: string | null): Promise<void>;
}

export class TurnFeed {
  readonly turnId: string;
  readonly #shown = new Map<string, PromiseWithResolvers<void>>();
  #isOver = false;

  constructor(turnId: string) {
    this.turnId = turnId;
  }

  /** Resolves when the client has received the details of the call, or when the turn has ended. */
  async shown(callId: string): Promise<void> {
    if (!this.#isOver) await this.#mark(callId).promise;
  }

  /** Sends the events. Returns the terminal event, or null if the client has left. */
  async send(events: AsyncIterable<SequencedEvent>, to: FeedTarget): Promise<RunFinished | RunFailed | null> {
    const { updates, send } = to;
    try {
      for await (const { event } of events) {
        if (event.type === "run_started") await to.onStart(event.parentTurnId);
        for (const update of updates.of(event)) await send(update);
        if (event.type === "tool_call_view") this.#mark(event.callId).resolve();
        if (isTerminal(event)) return event;
      }
      return null;
    } finally {
      this.#isOver = true;
      for (const mark of this.#shown.values()) mark.resolve();
    }
  }

  #mark(callId: string): PromiseWithResolvers<void> {
    const known = this.#shown.get(callId) ?? Promise.withResolvers<void>();
    this.#shown.set(callId, known);
    return known;
  }
}
